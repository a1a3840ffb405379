"""The prefix of a simulator's frames: they share /tf with those of all other simulators."""

from __future__ import annotations

AUTO = 'auto'
"""The namespace of the node and a slash; nothing in the root namespace."""


def frame_prefix_in(given: str, namespace: str) -> str:
    """
    Return the prefix of frames that a parameter stands for.

    given: value of the parameter `frame_prefix`. namespace: of the node.
    """
    if given != AUTO:
        return given
    space = namespace.strip('/')
    return f'{space}/' if space else ''
