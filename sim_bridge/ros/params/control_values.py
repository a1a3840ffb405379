"""Values of the parameters control.<axis>, gains.<axis>.p and gains.<axis>.d."""

from __future__ import annotations

import math
from typing import Any

from sim_bridge.description.yaml.section import number_in
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.robots.joints.motor import CONTROLS

CONTROL_WORDS = ' or '.join(map(repr, CONTROLS))
GAIN_WORDS = 'a finite number, at least 0.0'


def control_of(name: str, value: Any) -> str:
    """Return a control mode. name: the parameter's. Raises InvalidValueError."""
    # parameters may be set to any type, even a list
    if not isinstance(value, str) or value not in CONTROLS:
        raise InvalidValueError(f'parameter {name!r}', value, CONTROL_WORDS)
    return value


def gain_of(name: str, value: Any) -> float:
    """Return a gain. name: the parameter's. Raises InvalidValueError."""
    gain = number_in(value)
    if gain is None or not 0.0 <= gain < math.inf:
        raise InvalidValueError(f'parameter {name!r}', value, GAIN_WORDS)
    return gain
