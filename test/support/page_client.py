"""A page's client without a browser: receives scenes and widgets, sends widget values."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from http.client import HTTPConnection
import threading
import time
from typing import Any
from urllib.parse import urlsplit

import msgspec.msgpack
import numpy as np
import viser
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
import zstandard

_TIMEOUT, _POLL = 60.0, 0.05  # s
_CAMERA = {
    'type': 'ViewerCameraMessage',
    'wxyz': (1.0, 0.0, 0.0, 0.0),
    'position': (3.0, 3.0, 3.0),
    'fov': 1.0,
    'near': 0.01,
    'far': 100.0,
    'image_height': 600,
    'image_width': 800,
    'look_at': (0.0, 0.0, 0.0),
    'up_direction': (0.0, 0.0, 1.0),
}


class PageClient:
    """
    A connection to a page. widgets: props by label. nodes: props of the scene's nodes by name.

    A context manager.
    """

    def __init__(self, url: str):
        """Open the page as a browser does: the token first, then a socket with the cookie."""
        parts = urlsplit(url)
        connection = HTTPConnection(parts.netloc, timeout=_TIMEOUT)
        connection.request('GET', f'{parts.path}?{parts.query}')
        cookie = connection.getresponse().headers['Set-Cookie'].partition(';')[0]
        connection.close()
        self._socket = connect(
            f'ws://{parts.netloc}',
            origin=f'http://{parts.netloc}',
            compression=None,
            additional_headers={'Cookie': cookie},
            max_size=None,
            open_timeout=_TIMEOUT,
            subprotocols=[f'viser-v{viser.__version__}'],
        )
        self.widgets: dict[str, dict[str, Any]] = {}
        self.commands: dict[str, str] = {}
        self.nodes: dict[str, dict[str, Any]] = {}
        self._by_uuid: dict[str, dict[str, Any]] = {}
        self._changed = threading.Condition()
        self._send(_CAMERA)
        threading.Thread(target=self._listen, daemon=True).start()

    def __enter__(self) -> PageClient:
        return self

    def __exit__(self, *args: object) -> None:
        self._socket.close()

    def wait(self, what: str, is_so: Callable[[], Any]) -> Any:
        """Wait until a condition holds; return its value."""
        found = self.becomes(is_so, _TIMEOUT)
        assert found, f'waited in vain: {what}'
        return found

    def becomes(self, is_so: Callable[[], Any], timeout: float) -> Any:
        """Return a condition's value once it is true, or after a timeout [s]."""
        end = time.monotonic() + timeout
        with self._changed:
            while not (found := self._try(is_so)) and time.monotonic() < end:
                # values not shown on the page change without a message
                self._changed.wait(_POLL)
        return found

    def wait_for(self, label: str) -> dict[str, Any]:
        """Wait for a widget."""
        found: dict[str, Any] = self.wait(label, lambda: self.widgets.get(label))
        return found

    @property
    def texts(self) -> list[str]:
        """All texts on the page."""
        return [each['_markdown'] for each in list(self._by_uuid.values()) if '_markdown' in each]

    @property
    def plot(self) -> dict[str, Any]:
        """The chart of the tab Plots; KeyError without."""
        for each in list(self._by_uuid.values()):
            if 'series' in each and 'data' in each:
                return each
        raise KeyError('a plot')

    @property
    def curves(self) -> dict[str, np.ndarray]:
        """Times and values, (2, n), of all curves in the chart, by their labels."""
        times, *values = (np.asarray(data, float) for data in self.plot['data'])
        return {
            one['label']: np.array([times, own])
            for one, own in zip(self.plot['series'][1:], values, strict=False)
            if len(own) == len(times)
        }

    def click(self, label: str) -> None:
        """Click a button."""
        self.set(label, True)

    def pause(self) -> None:
        """Pause playback."""
        if self.widgets['Pause']['label'] == 'Pause':
            self.click('Pause')
            self.wait('a pause', lambda: self.widgets['Pause']['label'] == 'Play')

    def play(self) -> None:
        """Resume playback."""
        if self.widgets['Pause']['label'] == 'Play':
            self.click('Pause')
            self.wait('play', lambda: self.widgets['Pause']['label'] == 'Pause')

    def box(self, size: Sequence[float]) -> tuple[str, int, np.ndarray]:
        """Return the node showing a box with a given size, its index there, and its position."""
        for name, node in self.nodes.items():
            scales = node.get('batched_scales')
            if scales is not None:
                for k, each in enumerate(scales.reshape(-1, 3)):
                    if np.allclose(each, size):
                        return name, k, node['batched_positions'].reshape(-1, 3)[k].astype(float)
        raise KeyError('the box')

    def set(self, label: str, value: Any) -> None:
        """Set a widget's value."""
        widget = self.wait_for(label)
        self._send(
            {'type': 'GuiUpdateMessage', 'uuid': widget['uuid'], 'updates': {'value': value}}
        )
        widget['value'] = value

    def press(self, command: str) -> None:
        """Press a command's key."""
        self.wait(command, lambda: command in self.commands)
        self._send({'type': 'CommandTriggerMessage', 'uuid': self.commands[command]})

    def drag(self, node: str, instance: int, phase: str, start: Any, end: Any) -> None:
        """Drag a node's instance with Ctrl and the left button."""
        self._send(
            {
                'type': 'SceneNodeDragMessage',
                'name': node,
                'phase': phase,
                'instance_index': instance,
                'start_position': [float(each) for each in start],
                'start_screen_pos': (0.5, 0.5),
                'end_position': [float(each) for each in end],
                'end_screen_pos': (0.5, 0.5),
                'button': 'left',
                'modifier': 'cmd/ctrl',
            }
        )

    def _try(self, is_so: Callable[[], Any]) -> Any:
        try:
            return is_so()
        except (KeyError, IndexError):
            return None

    def _send(self, message: dict[str, Any]) -> None:
        self._socket.send(msgspec.msgpack.encode(message))

    def _listen(self) -> None:
        try:
            while True:
                messages = _decode(self._socket.recv())
                with self._changed:
                    for message in messages:
                        self._take(message)
                    self._changed.notify_all()
        except ConnectionClosed:
            return

    def _take(self, message: dict[str, Any]) -> None:
        kind, props = message['type'], message.get('props')
        if kind.startswith('Gui') and isinstance(props, dict):
            widget = {**props, 'uuid': message['uuid'], 'value': message.get('value')}
            self._by_uuid[message['uuid']] = widget
            self.widgets[props.get('label', '')] = widget
        elif kind == 'GuiUpdateMessage':
            self._by_uuid.get(message['uuid'], {}).update(message['updates'])
        elif kind == 'GuiRemoveMessage':
            self._by_uuid.pop(message['uuid'], None)
        elif kind == 'RegisterCommandMessage':
            self.commands[props['label']] = message['uuid']
        elif kind == 'SceneNodeUpdateMessage':
            self.nodes.get(message['name'], {}).update(message['updates'])
        elif kind == 'RemoveSceneNodeMessage':
            self.nodes.pop(message['name'], None)
        elif 'name' in message and isinstance(props, dict):
            self.nodes[message['name']] = dict(props)
        elif kind in ('SetPositionMessage', 'SetSceneNodeVisibilityMessage'):
            self.nodes.setdefault(message['name'], {}).update(message)


def recording(page: str) -> tuple[float, list[tuple[float, dict[str, Any]]]]:
    """Return a recording page's duration and messages, with their times."""
    mark = 'window.__VISER_EMBED_DATA__="'
    begin = page.index(mark) + len(mark)
    data = base64.b64decode(page[begin : page.index('"', begin)])
    inner = zstandard.ZstdDecompressor().decompress(data[8:], int.from_bytes(data[:8], 'little'))
    end = 8 + int.from_bytes(inner[:8], 'little')
    outer = msgspec.msgpack.decode(inner[8:end])
    times, messages = zip(*outer['messages'], strict=True)
    found = _with_arrays(list(messages), outer['binaryBufferLengths'], inner, end)
    return outer['durationSeconds'], list(zip(times, found, strict=True))


def _decode(content: Any) -> list[dict[str, Any]]:
    """Return a packet's messages: compressed msgpack, then arrays."""
    packed = int.from_bytes(content[8:16], 'little')
    outer = msgspec.msgpack.decode(
        zstandard.ZstdDecompressor().decompress(
            content[16 : 16 + packed], int.from_bytes(content[:8], 'little')
        )
    )
    return _with_arrays(
        list(outer['messages']), outer['binaryBufferLengths'], content, 16 + packed
    )


def _with_arrays(
    messages: list[Any], lengths: list[int], content: bytes, at: int
) -> list[dict[str, Any]]:
    """Return messages with their arrays, read from an offset on."""
    buffers = []
    for length in lengths:
        at += -at % 8
        buffers.append(content[at : at + length])
        at += length

    def arrays(value: Any) -> Any:
        if isinstance(value, dict):
            if '__binary_index' in value:
                return np.frombuffer(buffers[value['__binary_index']], value['dtype'])
            return {key: arrays(each) for key, each in value.items()}
        if isinstance(value, list):
            return [arrays(each) for each in value]
        return value

    found: list[dict[str, Any]] = arrays(messages)
    return found
