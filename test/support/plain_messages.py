"""Conversion of any package's messages to plain dictionaries and lists, and back."""

from __future__ import annotations

import importlib
import re
from typing import Any


def to_plain(value: Any) -> Any:
    """Convert a message to JSON-compatible values."""
    if hasattr(value, 'get_fields_and_field_types'):
        return {
            name: to_plain(getattr(value, name)) for name in value.get_fields_and_field_types()
        }
    if isinstance(value, (str, int, float)):
        return value
    return [to_plain(one) for one in value]


def fill(message: Any, values: dict[str, Any]) -> Any:
    """Write JSON values into a message; return the message."""
    types = message.get_fields_and_field_types()
    for name, value in values.items():
        if isinstance(value, dict):
            fill(getattr(message, name), value)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            package, kind = re.fullmatch(r'sequence<(\w+)/(\w+)>', types[name]).groups()
            make = getattr(importlib.import_module(f'{package}.msg'), kind)
            setattr(message, name, [fill(make(), one) for one in value])
        else:
            setattr(message, name, value)
    return message
