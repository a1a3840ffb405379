"""Frame name prefix of a simulator: all simulators share /tf."""

from __future__ import annotations

AUTO = 'auto'
"""Value for the node's namespace and a slash; no prefix in the root namespace."""


def frame_prefix_in(given: str, namespace: str) -> str:
    """
    Return the frame name prefix for a value of the parameter `frame_prefix`.

    given: parameter value. namespace: of the node.
    """
    if given != AUTO:
        return given
    space = namespace.strip('/')
    return f'{space}/' if space else ''
