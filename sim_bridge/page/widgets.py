"""What viser's types say less well than its code does, or it does slowly; texts from elsewhere."""

from __future__ import annotations

import re
from typing import Any

import viser
import viser._messages as messages

_DECIMALS = 9
_SPECIAL = re.compile(r'[\\`*_{}\[\]<>()#!|~&]')


def set_value(widget: Any, value: Any) -> None:
    """Set the value of an input, unless it has it; its setter is hidden from type checkers."""
    if widget.value != value:
        widget.value = value


def any_decimals(*widgets: Any) -> None:
    """Let fields take numbers finer than their steps, to which they would be rounded."""
    for widget in widgets:
        widget.precision = _DECIMALS


def plain(text: str) -> str:
    """Return a text as Markdown that shows it as it is: names and errors may hold anything."""
    return _SPECIAL.sub(lambda found: f'&#{ord(found[0])};', text)


def update_node(server: viser.ViserServer, handle: Any, **props: Any) -> None:
    """
    Send new values of a node's properties, of the types that it declares, as one message.

    Their setters take 20 times as long: they look at the annotations each time. The handle keeps
    the values of old.
    """
    server.scene._queue_scene_message(messages.SceneNodeUpdateMessage(handle.name, props))
