"""
Forces of the medium in MJCF models as force fields.

A body has MuJoCo's ellipsoid model for each geom with `fluidshape="ellipsoid"`; a body without
such geoms has the inertia model. The box of a body with two equal moments of inertia has other
axes than MuJoCo's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from sim_bridge.description.flows import BoxFlow, EllipsoidFlow
from sim_bridge.description.force_fields import RobotField
from sim_bridge.description.mjcf.compiled import CompiledModel
from sim_bridge.foundation.rotation import quaternion_from_matrix

# columns in geom_fluid
_SHARE, _COEFFICIENTS, _MASS, _INERTIA = 0, slice(1, 6), slice(6, 9), slice(9, 12)


def fields_of(model: CompiledModel, links: Mapping[int, str]) -> Iterator[RobotField]:
    """Yield the fields on one robot. links: link names by body."""
    density, viscosity = (float(model.option(name)) for name in ('density', 'viscosity'))
    if density <= 0.0 and viscosity <= 0.0:
        return
    x, y, z = map(float, model.option('wind'))
    medium: dict[str, Any] = {'density': density, 'viscosity': viscosity, 'wind': (x, y, z)}
    boxes = []
    for body, link in links.items():
        geoms = [
            geom for geom in model.of_body('geom', body) if model['geom_fluid'][geom, _SHARE] > 0.0
        ]
        if model['body_mass'][body] > 0.0 and not geoms:
            boxes.append(link)
        for geom in geoms:
            field = EllipsoidFlow(**medium, **_ellipsoid(model, geom))
            name = f'{model.name("geom", geom)}_fluid'
            yield RobotField(name, field, (link,), model.line('geom', geom))
    if boxes:
        yield RobotField('fluid', BoxFlow(**medium), tuple(boxes))


def _ellipsoid(model: CompiledModel, geom: int) -> dict[str, Any]:
    """Return an ellipsoid's arguments for `EllipsoidFlow`."""
    numbers = model['geom_fluid'][geom].astype(float)
    pose = model.pose('geom', geom)
    names = ('blunt_drag', 'slender_drag', 'angular_drag', 'kutta_lift', 'magnus_lift')
    return {
        'semiaxes': _semiaxes(model, geom),
        'center': tuple(pose.position.tolist()),
        'orientation': tuple(quaternion_from_matrix(pose.rotation).tolist()),
        **dict(zip(names, numbers[_COEFFICIENTS].tolist(), strict=True)),
        'added_mass': tuple(numbers[_MASS].tolist()),
        'added_inertia': tuple(numbers[_INERTIA].tolist()),
        'share': float(numbers[_SHARE]),
    }


def _semiaxes(model: CompiledModel, geom: int) -> tuple[float, float, float]:
    """Return the semiaxes for a geom's ellipsoid [m]."""
    kind, size = model.words('geom_type')[geom], model['geom_size'][geom].astype(float)
    if kind == 'sphere':
        size = np.full(3, size[0])
    elif kind == 'capsule':
        size = np.array([size[0], size[0], size[0] + size[1]])
    elif kind == 'cylinder':
        size = np.array([size[0], size[0], size[1]])
    x, y, z = size.tolist()
    return x, y, z
