"""Default ROS discovery settings: this machine only, unless the user configures discovery."""

from __future__ import annotations

from collections.abc import Mapping

# a user with one of these variables has configured discovery
_DISCOVERY = ('ROS_AUTOMATIC_DISCOVERY_RANGE', 'ROS_LOCALHOST_ONLY', 'ROS_STATIC_PEERS')


def discovery_defaults(environ: Mapping[str, str]) -> dict[str, str]:
    """
    Return variables to add to `environ`; they limit discovery to nodes on this machine.

    Many users on one network start a simulator in domain 0. Without the limit, one user's
    controller could move another user's arm. Nothing is added if any discovery variable is set.
    """
    if any(name in environ for name in _DISCOVERY):
        return {}
    return {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}
