"""Who may find the nodes of this package: this machine alone, unless the user says otherwise."""

from __future__ import annotations

from collections.abc import Mapping

# whoever set one of these has decided who may discover whom
_DISCOVERY = ('ROS_AUTOMATIC_DISCOVERY_RANGE', 'ROS_LOCALHOST_ONLY', 'ROS_STATIC_PEERS')


def discovery_defaults(environ: Mapping[str, str]) -> dict[str, str]:
    """
    Return what to add to `environ` so that nodes of this machine alone find each other.

    A simulator is started by many on one network, all in domain 0; nobody wants his arm moved by
    the neighbour's controller. Nothing is added if the user has said anything about discovery.
    """
    if any(name in environ for name in _DISCOVERY):
        return {}
    return {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}
