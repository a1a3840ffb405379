"""USD stages with prims of all kinds: texts with damaged lines, and damaged binary files."""

from __future__ import annotations

from pathlib import Path
from random import Random
import re

from fuzzing.damage import damaged_bytes, damaged_lines
from fuzzing.stepping import step_on
from sim_bridge import World

_WORLD = b"""#usda 1.0
(
    defaultPrim = "shop"
    metersPerUnit = 0.1
    kilogramsPerUnit = 1
    upAxis = "Y"
)
def Xform "shop"
{
    def PhysicsScene "scene"
    {
        vector3f physics:gravityDirection = (0, -1, 0)
        float physics:gravityMagnitude = 50
    }
    def Material "rubber" (prepend apiSchemas = ["PhysicsMaterialAPI"])
    {
        float physics:dynamicFriction = 0.5
        float physics:staticFriction = 0.6
        float physics:restitution = 0.1
    }
    def Plane "floor" (prepend apiSchemas = ["PhysicsCollisionAPI"])
    {
        token axis = "Y"
    }
    def DistantLight "sun"
    {
        color3f inputs:color = (1, 0.9, 0.8)
    }
    def Cube "box" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"])
    {
        double size = 2
        rel material:binding:physics = </shop/rubber>
        double3 xformOp:translate = (20, 10, 0)
        float3 xformOp:scale = (1, 2, 3)
        uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:scale"]
    }
    def Xform "arm" (prepend apiSchemas = ["PhysicsArticulationRootAPI"])
    {
        def Xform "post" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
        {
            float physics:mass = 2
            float3 physics:diagonalInertia = (10, 20, 15)
            quatf physics:principalAxes = (0.9, 0.1, 0, 0)
            def Camera "eye"
            {
                float focalLength = 30
            }
        }
        def Xform "rod" (prepend apiSchemas = ["PhysicsRigidBodyAPI"])
        {
            double3 xformOp:translate = (5, 0, 0)
            uniform token[] xformOpOrder = ["xformOp:translate"]
            def Capsule "shape" (prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMassAPI"])
            {
                double radius = 0.5
                double height = 6
                token axis = "X"
                float physics:density = 0.5
            }
        }
        def Mesh "wedge" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"])
        {
            int[] faceVertexCounts = [3, 3, 3, 3]
            int[] faceVertexIndices = [0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3]
            point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
            uniform token physics:approximation = "convexHull"
        }
        def PhysicsFixedJoint "hold"
        {
            rel physics:body1 = </shop/arm/post>
            point3f physics:localPos0 = (0, 10, 0)
        }
        def PhysicsRevoluteJoint "swing" (prepend apiSchemas = ["PhysicsDriveAPI:angular"])
        {
            uniform token physics:axis = "Z"
            rel physics:body0 = </shop/arm/post>
            rel physics:body1 = </shop/arm/rod>
            point3f physics:localPos1 = (-5, 0, 0)
            float physics:lowerLimit = -90
            float physics:upperLimit = 90
            float drive:angular:physics:stiffness = 3
            float drive:angular:physics:damping = 0.1
            float drive:angular:physics:targetPosition = 10
            float drive:angular:physics:maxForce = 500
        }
        def PhysicsJoint "free" (prepend apiSchemas = ["PhysicsLimitAPI:transX"])
        {
            rel physics:body0 = </shop/arm/rod>
            rel physics:body1 = </shop/arm/wedge>
            float limit:transX:physics:low = 1
            float limit:transX:physics:high = -1
        }
    }
}
"""
_BINARY = Path(__file__).parents[2] / 'description/usd/joints.usdc'
_CRATE = b'PXR-USDC'


_NUMBER = re.compile(rb'-?\b\d+(\.\d+)?\b|</[\w/]*>')
_VALUES = (b'0', b'-1', b'7', b'1e-30', b'1e30', b'-1e30', b'nan', b'inf', b'-inf', b'</shop>')


def make(rng: Random) -> bytes:
    """Return a text with other numbers and targets, or a damaged text or binary file."""
    how = rng.random()
    if how < 0.2:
        return damaged_bytes(rng, _BINARY.read_bytes())
    return damaged_lines(rng, _WORLD) if how < 0.5 else _with_other_values(rng)


def _with_other_values(rng: Random) -> bytes:
    """Return a text that usd-core parses, with other numbers and targets of relationships."""
    text = _WORLD
    places = [found for found in _NUMBER.finditer(text) if found.start() > len(b'#usda 1.0')]
    chosen = rng.sample(places, rng.randint(1, 4))
    for place in sorted(chosen, key=lambda found: -found.start()):
        is_path = place[0].startswith(b'<')
        others = [found[0] for found in places if found[0].startswith(b'<') == is_path]
        values = [each for each in _VALUES if each.startswith(b'<') == is_path]
        text = text[: place.start()] + rng.choice((*values, *others)) + text[place.end() :]
    return text


def run(case: bytes, folder: Path) -> None:
    """Load a file as a world, and simulate it."""
    path = folder / ('scene.usdc' if case.startswith(_CRATE) else 'scene.usda')
    path.write_bytes(case)
    world = World()
    world.load_scene(path)
    step_on(world)
