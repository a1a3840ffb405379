"""Frame name prefix for a simulator: all simulators share /tf."""

from __future__ import annotations

AUTO = 'auto'
"""Value for the node's namespace and a slash; no prefix in the root namespace."""


def frame_prefix_in(given: str, namespace: str) -> str:
    """
    Return the frame name prefix for the parameter value `frame_prefix`.

    given: parameter value. namespace: the node's namespace.
    """
    if given != AUTO:
        return given
    space = namespace.strip('/')
    return f'{space}/' if space else ''
