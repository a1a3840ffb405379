"""Semantic labels of links, for cameras."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from sim_bridge.description.model import RobotDescription
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import whole_number

MOST_LABEL = 65535
"""Greatest label; 0 is the background."""


def checked_label(label: object, place: str) -> int:
    """Return a label; raises InvalidValueError for anything but an integer from 0 on."""
    try:
        return whole_number('label', label, MOST_LABEL)
    except InvalidValueError as err:
        raise InvalidValueError('label', label, err.expected, place) from None


def with_label(description: RobotDescription, label: int | None) -> RobotDescription:
    """Return a description whose links all have a label; None: with their own labels."""
    if label is None:
        return description
    label = checked_label(label, f'robot {description.name!r}')
    links = {name: replace(link, label=label) for name, link in description.links.items()}
    return replace(description, links=MappingProxyType(links))
