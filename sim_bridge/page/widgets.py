"""Additions to viser: typed and faster setters, plain texts in Markdown."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
import re
from typing import Any

import viser
import viser._messages as messages

_DECIMALS = 9
_SPECIAL = re.compile(r'[\\`*_{}\[\]<>()#!|~&]')


def set_value(widget: Any, value: Any) -> None:
    """Set an input's changed value; viser's types hide its setter."""
    if widget.value != value:
        widget.value = value


def show_value(server: viser.ViserServer, widget: Any, value: Any) -> None:
    """
    Set an input to a value from the simulator, from any thread.

    It is set on viser's event loop, never between a user's input and its callback (`in_order`).
    """
    if widget.value != value:
        server.get_event_loop().call_soon_threadsafe(set_value, widget, value)


def in_order(function: Callable[[Any], object]) -> Callable[[Any], Coroutine[Any, Any, None]]:
    """
    Return a callback that runs with each user's input, on viser's event loop.

    viser runs plain functions on a thread pool: two inputs can change places there, and a function
    can read a value set by the simulator in the meantime. The function must not block.
    """

    async def call(event: Any) -> None:
        function(event)

    return call


def any_decimals(*widgets: Any) -> None:
    """Let fields accept numbers finer than their steps, without rounding to them."""
    for widget in widgets:
        widget.precision = _DECIMALS


def plain(text: str) -> str:
    """Return a text escaped for Markdown: names and errors may contain any character."""
    return _SPECIAL.sub(lambda found: f'&#{ord(found[0])};', text)


def update_node(server: viser.ViserServer, handle: Any, **props: Any) -> None:
    """
    Send new values of a node's properties, in their declared types, as one message.

    The properties' setters take 20 times as long, since they read the annotations at each call.
    The handle keeps its old values.
    """
    server.scene._queue_scene_message(messages.SceneNodeUpdateMessage(handle.name, props))
