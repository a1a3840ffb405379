"""Default ROS discovery settings: this machine only, unless the user configures discovery."""

from __future__ import annotations

from collections.abc import Mapping

# a user who has set one of these has configured discovery
_DISCOVERY = ('ROS_AUTOMATIC_DISCOVERY_RANGE', 'ROS_LOCALHOST_ONLY', 'ROS_STATIC_PEERS')


def discovery_defaults(environ: Mapping[str, str]) -> dict[str, str]:
    """
    Return variables to add to `environ` so that only nodes on this machine find each other.

    Many users on one network start a simulator in domain 0. Without this, one user's controller
    could move another user's arm. Nothing is added if the user has set any discovery variable.
    """
    if any(name in environ for name in _DISCOVERY):
        return {}
    return {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}
