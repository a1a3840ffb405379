"""Small stages in USD, by hand."""

from __future__ import annotations

from pathlib import Path

_HEAD = """#usda 1.0
(
    defaultPrim = "stage"
    metersPerUnit = {meters}
    kilogramsPerUnit = {kilograms}
    upAxis = "{up}"
)
def Xform "stage"
{{
{text}
}}
"""


def write(
    folder: Path,
    text: str,
    *,
    meters: float = 1.0,
    kilograms: float = 1.0,
    up: str = 'Z',
    name: str = 'stage.usda',
) -> Path:
    """Write a stage with some prims below its default prim; return its path."""
    path = folder / name
    path.write_text(_HEAD.format(meters=meters, kilograms=kilograms, up=up, text=text))
    return path


def body(name: str, inner: str = '', *, at: str = '0, 0, 0', schemas: str = '') -> str:
    """Return a rigid body of 2 kg with an inertia of 0.1, 0.2, 0.3 kg m²."""
    return f"""
def Xform "{name}" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"{schemas}])
{{
    float physics:mass = 2
    float3 physics:diagonalInertia = (0.1, 0.2, 0.3)
    point3f physics:centerOfMass = (0, 0, 0)
    double3 xformOp:translate = ({at})
    uniform token[] xformOpOrder = ["xformOp:translate"]
{inner}
}}
"""


def joint(kind: str, name: str, body0: str, body1: str, inner: str = '', schemas: str = '') -> str:
    """Return a joint between two bodies below the default prim; '' for the world."""
    ends = ''.join(
        f'    rel physics:body{number} = </stage/{path}>\n'
        for number, path in enumerate((body0, body1))
        if path
    )
    applied = f'(prepend apiSchemas = [{schemas}])' if schemas else ''
    return f'def Physics{kind} "{name}" {applied}\n{{\n{ends}{inner}\n}}\n'
