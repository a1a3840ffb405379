"""Messages from browsers, checked before viser reads them."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, get_type_hints

import msgspec
import viser._messages as messages

VISITORS_MAY = frozenset({'ViewerCameraMessage', 'GetRenderResponseMessage'})
"""Message types without effect on the simulation."""

_KNOWN = frozenset(each.__name__ for each in messages.Message.get_subclasses())
# limit for camera numbers [m, rad, pixels]; squares of larger ones overflow in browsers
_MOST = 1e15


class _Head(msgspec.Struct):
    """Decoded message part."""

    type: str


def _decoder(kind: type) -> msgspec.msgpack.Decoder[Any]:
    """Return a decoder for exactly the fields of a message class, in their types."""
    types = get_type_hints(kind)
    fields = [(each.name, types[each.name]) for each in dataclasses.fields(kind) if each.init]
    struct = msgspec.defstruct(
        kind.__name__, fields, tag_field='type', tag=kind.__name__, forbid_unknown_fields=True
    )
    return msgspec.msgpack.Decoder(struct)


_HEAD = msgspec.msgpack.Decoder(_Head)
_DECODERS = {name: _decoder(getattr(messages, name)) for name in VISITORS_MAY}


def is_accepted(content: bytes, *, from_visitor: bool) -> bool:
    """
    Return whether a message may reach viser.

    Its type must be known; a visitor's must be in `VISITORS_MAY`. The fields of these types must
    be complete and valid, since viser reports an invalid one by a traceback. Other messages must
    be readable by viser, which would end the connection.
    """
    try:
        kind = _HEAD.decode(content).type
        if kind not in (VISITORS_MAY if from_visitor else _KNOWN):
            return False
        if kind in _DECODERS:
            return _is_finite(_DECODERS[kind].decode(content))
        messages.Message.deserialize(content)
        return True
    except Exception:  # noqa: BLE001 - viser's own reader checks nothing
        return False


def _is_finite(message: msgspec.Struct) -> bool:
    for value in msgspec.structs.astuple(message):
        for number in value if isinstance(value, tuple) else (value,):
            if isinstance(number, (int, float)) and not (
                math.isfinite(number) and abs(number) <= _MOST
            ):
                return False
    return True
