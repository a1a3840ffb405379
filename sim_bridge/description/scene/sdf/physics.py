"""Physics settings in an SDF world."""

from __future__ import annotations

from typing import NamedTuple

from sim_bridge.description.gravity import GREATEST_GRAVITY
from sim_bridge.description.sdf_model.tags import NOT_NEGATIVE, POSITIVE, Tags

GRAVITY = (0.0, 0.0, -9.8)
"""Gravity without one in the file [m/s²]."""
MAGNETIC_FIELD = (5.5645e-6, 22.8758e-6, -42.3884e-6)
# of engines that are not here; the numbers of contacts and updates have no limit
_ENGINES = ('ode', 'bullet', 'dart', 'simbody')
_SILENT = ('real_time_update_rate', 'max_contacts', 'gravity', 'magnetic_field')
_STANDARD = {'temperature': 288.15, 'temperature_gradient': -0.0065, 'pressure': 101325.0}


class Physics(NamedTuple):
    """
    World physics.

    gravity [m/s²]. magnetic_field [T], world axes. time_step [s], real_time_factor (0:
    as fast as possible): None if not given. wind: velocity [m/s].
    """

    gravity: tuple[float, float, float] = GRAVITY
    magnetic_field: tuple[float, float, float] | None = None
    time_step: float | None = None
    real_time_factor: float | None = None
    wind: tuple[float, float, float] = (0.0, 0.0, 0.0)


def read_physics(world: Tags) -> Physics:
    """Return a world's physics: the default profile, or the first."""
    nodes = world.findall('physics')
    chosen = next((n for n in nodes if n.get('default').lower() in ('true', '1')), None)
    chosen = chosen or next(iter(nodes), None)
    physics = Tags(world.node, world.place, world.findings) if chosen is None else world.of(chosen)
    step = factor = None
    if chosen is not None:
        step = physics.numbers('max_step_size', POSITIVE)
        factor = physics.numbers('real_time_factor', NOT_NEGATIVE)
        physics.close((*_ENGINES, *_SILENT))
    # before SDF 1.6 gravity was in the physics
    x, y, z = physics.vector('gravity', GRAVITY) if chosen is not None else GRAVITY
    x, y, z = world.vector('gravity', (x, y, z))
    gravity = (x, y, z)
    if max(map(abs, gravity)) > GREATEST_GRAVITY:
        message = f'must be at most {GREATEST_GRAVITY:g}'
        world.findings.error('out-of-range', world.place.child('gravity', 0), message)
        gravity = GRAVITY
    field = None
    for tags in (physics, world):
        if tags.node.find('magnetic_field') is not None:
            a, b, c = tags.vector('magnetic_field', MAGNETIC_FIELD)
            field = a, b, c
    world.find('magnetic_field')
    _check_air(world)
    return Physics(
        gravity, field, step[0] if step else None, factor[0] if factor else None, _wind(world)
    )


def _wind(world: Tags) -> tuple[float, float, float]:
    wind = world.inside('wind')
    if wind is None:
        return 0.0, 0.0, 0.0
    x, y, z = wind.vector('linear_velocity', (0.0, 0.0, 0.0))
    wind.close()
    return x, y, z


def _check_air(world: Tags) -> None:
    air = world.inside('atmosphere')
    if air is None:
        return
    for name, usual in _STANDARD.items():
        if abs(air.number(name, usual) - usual) > 1e-3 * abs(usual):
            air.ignore((name,), 'the air is the standard atmosphere')
    air.close(('type',))
