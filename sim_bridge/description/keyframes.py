"""Named states of a robot, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from sim_bridge.foundation.arrays import FloatArray

_NONE: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class KeyframeDescription:
    """
    Named state of a robot: MuJoCo's keyframe.

    positions, velocities: joint coordinates by joint name, one number or several. Joints without
    an entry keep their state. base: root link frame in the world, position (3,) [m] and rotation
    (3, 3); None: it stays. base_velocity: linear [m/s] and angular [rad/s] velocity, world axes.
    controls: of actuators, by name. line: in its file, 0 for none.
    """

    name: str
    positions: Mapping[str, FloatArray] = field(default_factory=lambda: _NONE)
    velocities: Mapping[str, FloatArray] = field(default_factory=lambda: _NONE)
    base: tuple[FloatArray, FloatArray] | None = None
    base_velocity: tuple[FloatArray, FloatArray] | None = None
    controls: Mapping[str, float] = field(default_factory=lambda: _NONE)
    line: int = 0
