"""
The messages of simulation_interfaces, which is no dependency, in whatever version is installed.

Versions 1.x name a resource by `uri` and `resource_string`, 2.x by a message of both; only 2.1
says what of an entity's state is to be set; services came over time. What the installed one lacks
is not offered, nor told of.
"""

from __future__ import annotations

import importlib
import re
from types import ModuleType
from typing import Any, NamedTuple

from sim_bridge.foundation.errors import SimBridgeError, UnknownNameError

# simulation_interfaces/Result; services have codes of their own above 100
FEATURE_UNSUPPORTED, OK, NOT_FOUND, OPERATION_FAILED = 0, 1, 2, 4


class Interfaces(NamedTuple):
    """The modules of simulation_interfaces; action is None where the version has none."""

    msg: Any
    srv: Any
    action: Any


def installed_interfaces() -> Interfaces | None:
    """Return the modules; None where the package is not installed."""
    modules: list[ModuleType | None] = []
    for name in Interfaces._fields:
        try:
            modules.append(importlib.import_module(f'simulation_interfaces.{name}'))
        except ModuleNotFoundError:
            modules.append(None)
    return None if None in modules[:2] else Interfaces(*modules)


def service_name(kind: str) -> str:
    """Return the name that a service goes by: 'GetEntities' is ~/get_entities."""
    return '~/' + re.sub(r'(?<!^)(?=[A-Z])', '_', kind).lower()


def agree(response: Any, message: str = '') -> Any:
    """Write into a response that the request succeeded; return the response."""
    return say(response, OK, message)


def say(response: Any, code: int, message: str) -> Any:
    """Write a result into a response; return the response."""
    response.result.result, response.result.error_message = code, message
    return response


def refuse(response: Any, error: SimBridgeError) -> None:
    """Write an error into a response."""
    is_unknown = isinstance(error, UnknownNameError)
    say(response, NOT_FOUND if is_unknown else OPERATION_FAILED, str(error))
