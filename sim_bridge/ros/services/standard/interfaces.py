"""
Messages in the optional package simulation_interfaces, in the installed version.

Versions 1.x name a resource by `uri` and `resource_string`, 2.x by a message with both. Only 2.1
can select which parts of an entity's state are set. Later versions have more services. Services
missing in the installed version are neither offered nor listed.
"""

from __future__ import annotations

from collections.abc import Collection
import importlib
import re
from types import ModuleType
from typing import Any, NamedTuple

from geometry_msgs.msg import Vector3
import numpy as np

from sim_bridge.foundation.errors import SimBridgeError, UnknownNameError

# simulation_interfaces/Result; service-specific codes are above 100
FEATURE_UNSUPPORTED, OK, NOT_FOUND, INCORRECT_STATE, OPERATION_FAILED = range(5)


class Interfaces(NamedTuple):
    """Modules of simulation_interfaces; action is None if the version has none."""

    msg: Any
    srv: Any
    action: Any


def installed_interfaces() -> Interfaces | None:
    """Return the modules of simulation_interfaces; None if the package is not installed."""
    modules: list[ModuleType | None] = []
    for name in Interfaces._fields:
        try:
            modules.append(importlib.import_module(f'simulation_interfaces.{name}'))
        except ModuleNotFoundError:
            modules.append(None)
    return None if None in modules[:2] else Interfaces(*modules)


def names_of(kind: str) -> tuple[str, str]:
    """
    Return both names of a service or action: 'GetEntities' has get_entities and ~/get_entities.

    Clients expecting a single simulator use the former, in the node's namespace.
    """
    name = re.sub(r'(?<!^)(?=[A-Z])', '_', kind).lower()
    return name, f'~/{name}'


def fill_bounds(bounds: Any, box: np.ndarray | None) -> None:
    """Write lower and upper corner (2, 3) of a box [m] into a Bounds; None for no bounds."""
    if box is None:
        bounds.type, bounds.points = bounds.TYPE_EMPTY, []
        return
    lower, upper = ([float(value) for value in corner] for corner in box)
    # in the standard, the upper right corner comes first
    bounds.type = bounds.TYPE_BOX
    bounds.points = [Vector3(x=x, y=y, z=z) for x, y, z in (upper, lower)]


def passes_tags(wanted: Any, tags: Collection[str]) -> bool:
    """Return whether tags pass a TagsFilter; a filter without tags passes all."""
    has = [tag in tags for tag in wanted.tags]
    return not has or (all(has) if wanted.filter_mode == wanted.FILTER_MODE_ALL else any(has))


def agree(response: Any, message: str = '') -> Any:
    """Set the response's result to success; return the response."""
    return say(response, OK, message)


def say(response: Any, code: int, message: str) -> Any:
    """Set the response's result; return the response."""
    response.result.result, response.result.error_message = code, message
    return response


def refuse(response: Any, error: SimBridgeError) -> None:
    """Set the response's result to an error."""
    is_unknown = isinstance(error, UnknownNameError)
    say(response, NOT_FOUND if is_unknown else OPERATION_FAILED, str(error))
