"""Stage elements without simulation here."""

from __future__ import annotations

import math

from sim_bridge.description.report import Findings, Place
from sim_bridge.description.usd.assembly import is_body
from sim_bridge.description.usd.geometry import COLLISION, SHAPES
from sim_bridge.description.usd.stage import Stage

_LEFT_OUT = {
    'BasisCurves': 'curves are not drawn',
    'HermiteCurves': 'curves are not drawn',
    'NurbsCurves': 'curves are not drawn',
    'NurbsPatch': 'surfaces without triangles are not simulated',
    'Points': 'points are not drawn',
    'PointInstancer': 'copies by a point instancer are not simulated',
    'TetMesh': 'deformable bodies are not simulated',
    'MjcKeyframe': 'named states are not read',
    'MjcTendon': 'tendons are not simulated',
    'NewtonActuator': "Newton's actuators are not simulated",
}
_SCHEMAS = {
    'MjcEqualityConnectAPI': 'equalities between bodies are not simulated',
    'MjcEqualityWeldAPI': 'equalities between bodies are not simulated',
    'PhysxDeformableBodyAPI': 'deformable bodies are not simulated',
    'PhysxParticleSystemAPI': 'particles are not simulated',
    'PhysxForceAPI': 'forces in the file are not simulated',
    'PhysxVehicleAPI': "PhysX's vehicles are not simulated",
    'PhysxTendonAxisRootAPI': 'tendons are not simulated',
    'NewtonPointsDeformableSimAPI': 'deformable bodies are not simulated',
}
_VELOCITIES = ('physics:velocity', 'physics:angularVelocity')


def name_others(stage: Stage, findings: Findings) -> None:
    """Name the prims and attributes without simulation."""
    for prim in stage.prims.values():
        if prim.kind in _LEFT_OUT:
            findings.warning('not-simulated', prim.place, _LEFT_OUT[prim.kind])
        for schema, message in _SCHEMAS.items():
            if prim.has(schema) or prim.instances(schema):
                findings.warning('not-simulated', prim.place, message, schema)
        if prim.has(COLLISION) and prim.kind not in SHAPES:
            findings.warning(
                'not-simulated', prim.place, 'colliders of this type are not simulated', COLLISION
            )
        if prim.data.get('moving'):
            message = 'animations are not played; the first pose is taken'
            findings.warning('not-simulated', prim.place, message, 'xformOp')
        if is_body(prim):
            for name in _VELOCITIES:
                value = prim.numbers(name, 3)
                if value is not None and value.any():
                    message = 'bodies start at rest'
                    findings.warning('not-simulated', prim.place, message, name)
    scenes = stage.of('PhysicsScene')
    if len(scenes) > 1:
        message = f'{len(scenes)} scenes in one stage; the first one acts'
        findings.warning('not-simulated', scenes[1].place, message)


def gravity_of(stage: Stage) -> tuple[float, float, float] | None:
    """Return the gravity (3,) [m/s²] of the first scene; None without a scene."""
    scenes = stage.of('PhysicsScene')
    if not scenes:
        return None
    scene = scenes[0]
    direction = scene.numbers('physics:gravityDirection', 3)
    size = scene.number('physics:gravityMagnitude', -math.inf)
    # a negative size means the Earth's
    size = size * stage.meters if 0.0 <= size < math.inf else 9.81
    if direction is None or not direction.any():
        return 0.0, 0.0, -size
    x, y, z = (stage.up @ direction / math.hypot(*direction) * size).tolist()
    return x, y, z


def stage_place(stage: Stage) -> Place:
    """Return the whole stage's place."""
    return Place('stage', stage.default_name)
