"""Library calls with wrong arguments among right ones, on all public objects."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
import inspect
import json
from pathlib import Path
from random import Random
import traceback
from typing import Any

import numpy as np
from shipped import FOLDER, path_of

from fuzzing.damage import VALUES
from fuzzing.judge import check_words
from fuzzing.stepping import step_on
import sim_bridge as sb

_CALLS = 5
# step counts are arguments; more steps would take longer than `SECONDS`
_MOST_STEPS = 100
OPENPLX = """
Bob is Physics3D.Bodies.RigidBody:
    inertia.mass: 1
    ball is Physics3D.Geometries.Sphere:
        radius: 0.1
    pin is Physics3D.Interactions.MateConnector:
        position.z: 0.5
        main_axis: Math.Vec3.Y_AXIS()
Swing is Physics3D.System:
    bob is Bob
    base is Physics3D.Interactions.MateConnector:
        main_axis: Math.Vec3.Y_AXIS()
    hinge is Physics3D.Interactions.Hinge:
        connectors: [base, bob.pin]
    motor is Physics3D.Interactions.RotationalVelocityMotor:
        connectors: hinge.connectors
        target_speed: 2
        gain: 0.1
"""
# modules of classes not created by users
_NOT_MADE = tuple(
    f'sim_bridge.{name}'
    for name in (
        'batch.views',
        'description.model',
        'robots',
        'sensors',
        'world.contacts',
        'world.queries',
    )
)
# values available only in a program
_OBJECTS = (
    10**5000,
    object(),
    len,
    (0.0, 0.0, 0.1),
    (0.0, 0.0, 0.0, 1.0),
    np.zeros(3),
    np.zeros(0),
    np.full(3, np.nan),
    np.zeros((3, 3)),
    np.array(1.0),
    np.array([None, 'x']),
    np.array([1j]),
    np.array(['2020-01-01'], 'M8[D]'),
    np.float32(0.5),
    np.int8(-1),
    np.str_('ball'),
    {'ball'},
    range(3),
    1j,
    float,
)
# steps back and forth may overflow; all other calls must leave the world unchanged
_MAY_CHANGE = ('step',)


def make(rng: Random) -> bytes:
    """Return calls as JSON: holder by number, member, and wrong arguments by number."""
    surface, given = surface_of_holders()
    calls = []
    for _ in range(rng.randint(1, _CALLS)):
        holder, members = rng.choice(surface)
        name, known = rng.choice(members)
        share = rng.choice((0.0, 1.0 / len(known), 0.5))
        calls.append(
            [holder, name, {each: rng.randrange(given) for each in known if rng.random() < share}]
        )
    return json.dumps(calls).encode()


def run(case: bytes, folder: Path) -> None:
    """Make the calls; refused ones change nothing, and the world can be stepped afterwards."""
    held = holders()
    values, world = _values(held), held[1]
    for holder, name, wrong in json.loads(case):
        before = world.state_hash()
        given = {each: values[number] for each, number in wrong.items()}
        if (
            not call_member(held[holder], name, given, sound_values(held))
            and name not in _MAY_CHANGE
        ):
            assert world.state_hash() == before, f'refused, {name} changed the world'
    try:
        step_on(world)
    except TypeError as err:
        # raised by a function that was given as a hook, and takes no world
        if '.function(' not in (traceback.extract_tb(err.__traceback__)[-1].line or ''):
            raise


@cache
def _pattern() -> sb.World:
    """Return a world with a robot, tracks, bodies, and joints of all kinds between them."""
    world = sb.World()
    world.load_urdf(path_of('arm'), collisions='none')
    world.load_urdf(path_of('tracked_vehicle'), position=(5.0, 0.0, 1.0))
    ball = world.add_body(sb.Sphere(0.1), 'ball', position=(0.0, 0.0, 0.099))
    box = world.add_body(sb.Box((0.2, 0.2, 0.2)), 'box', position=(1.0, 0.0, 2.0))
    world.add_ground()
    world.add_joint('universal', None, box, (1.0, 0.0, 2.5), (1, 0, 0), (0, 1, 0))
    world.add_joint('distance', None, ball, (0.0, 0.0, 1.0), anchor2=(0.0, 0.0, 0.0), tree=False)
    world.add_angular_motor(None, ball, [(0.0, 0.0, 1.0)])
    world.load_body(FOLDER / 'crank_slider.body', 'engine', position=(-5.0, 0.0, 2.0))
    world.load_body(FOLDER / 'crawler_vehicle.body', 'crawler', position=(-8.0, 0.0, 1.0))
    world.load_openplx(OPENPLX, position=(-10.0, 0.0, 2.0))
    world.step()
    return world


def holders() -> list[Any]:
    """Return a new world with all its parts."""
    world = _pattern().copy()
    robot, vehicle, ball, *_ = world.robots.values()
    joint, (hanging, tied, motor, *_) = robot.joint('joint_1'), world.joints.values()
    follower = sb.TrajectoryFollower(robot, ['joint_2'], {'joint_1': sb.Gains(p=1.0)})
    trajectory = sb.Trajectory(['joint_1'], [0.5, 1.0], [[0.1], [0.2]])
    run = follower.start(trajectory, 0)
    world.step()
    [scene], engine = world.openplx.values(), world.robots['engine']
    return [
        sb,
        world,
        robot,
        ball,
        robot.links[1],
        joint,
        joint.axes[0],
        *robot.devices(),
        world.geometries[0],
        world.materials,
        sb.dynamics,
        hanging,
        hanging.axes[1],
        tied,
        motor,
        motor.axes[0],
        *vehicle.crawlers,
        engine,
        engine.joint('CRANK'),
        *engine.loop_joints.values(),
        *world.robots['crawler'].crawlers,
        scene,
        scene.joint('hinge'),
        *scene.inputs.values(),
        *scene.outputs.values(),
        follower,
        trajectory,
        world.contacts,
        world.contacts[0],
        world.report,
        run.tolerances,
        sb.Box((0.1, 0.2, 0.3)),
        sb.Cone(0.1, 0.2),
        sb.Line((0.0, 0.0, 0.0), (0.0, 0.0, 1.0)),
        sb.HollowCylinder(0.2, 0.1, 0.1),
        sb.HollowCone(0.2, 0.1, 0.1),
        sb.TriangleMesh(np.eye(3), [[0, 1, 2]]),
        sb.HeightField(np.zeros((3, 3)), (1.0, 1.0)),
        sb.ConvexHull(np.eye(4, 3)),
        sb.Material('ice'),
        sb.UniformField((0.0, 0.0, 1.0)),
        sb.Drag(linear=0.1),
        sb.Sleep(),
        world.raycasts((0, 0, 5), (0, 0, -5)),
        world.on_contact(_nothing),
        world.save(),
    ]


def _nothing(*_: object, **__: object) -> None:
    pass


@cache
def surface_of_holders() -> tuple[list[tuple[int, list[tuple[str, list[str]]]]], int]:
    """Return each holder's members with their parameters, and the number of values."""
    held = holders()
    return [
        (
            number,
            [(name, list(_parameters(holder, name)) or ['value']) for name in _members(holder)],
        )
        for number, holder in enumerate(held)
        if _members(holder)
    ], len(_values(held))


def _values(held: list[Any]) -> list[Any]:
    """Return wrong values, and right ones, some belonging elsewhere."""
    robot, other = held[2], _other()
    return [
        *VALUES,
        *_OBJECTS,
        *held[1:],
        *sound_values(held).values(),
        robot.links[-1].name,
        other,
        other.links[0],
        other.joints[0],
        _other_world().save(),
    ]


def sound_values(held: list[Any]) -> Mapping[str, Any]:
    """Return right arguments by parameter names, some for one member only."""
    _, world, robot, ball, link, *_ = held
    vector, names = (0.1, 0.2, 0.3), robot.joint_names
    return {
        'a': link,
        'b': ball.links[0],
        'set_contact_material.a': 'default',
        'set_contact_material.b': 'default',
        'contact_material.a': 'default',
        'contact_material.b': 'default',
        'set_group_collision.a': 'x',
        'set_group_collision.b': 'y',
        'axes': [vector],
        'axis': vector,
        'bodies': [{'shapes': sb.Sphere(0.1)}],
        'collide': False,
        'contact_material': sb.ContactMaterial(friction=0.5),
        'd': 0.1,
        'ddq': np.zeros(7),
        'description': robot.description,
        'f': vector,
        'first': ball,
        'second': None,
        'field': sb.UniformField(vector),
        'frame': None,
        'function': _nothing,
        'goal': np.ones((3, 1)),
        'heights': np.zeros((3, 3)),
        'joint': world.joints['distance'],
        'joints': names,
        'Trajectory.joints': names[:1],
        'kind': 'hinge',
        'devices.kind': sb.ImuSensor,
        'length': 0.5,
        'linear': vector,
        'link': link,
        'material': sb.Material('ice', friction=0.01),
        'n': 2,
        'name': None,
        'Material.name': 'ice',
        'joint.name': 'joint_1',
        'link.name': 'link_1',
        'crawler.name': 'left',
        'device.name': 'imu',
        'orientation': (0.0, 0.0, 0.0, 1.0),
        'p0': vector,
        'p1': (0.1, 0.2, -2.0),
        'path': np.ones((3, 1)),
        'path_or_xml': path_of('pendulum'),
        'path_or_text': OPENPLX,
        'load_body.path': FOLDER / 'crawler_vehicle.body',
        'load_openplx.model': 'Swing',
        'load_description.source': path_of('pendulum'),
        'source': {'objects': {}},
        'points': np.eye(4, 3),
        'pose_a': (vector, (0, 0, 0, 1)),
        'pose_b': ((1, 1, 1), (0, 0, 0, 1)),
        'position': vector,
        'positions': [[0.1], [0.2]],
        'quantity': 'force',
        'radii': vector,
        'radius': 0.1,
        'robot': robot,
        'remove.robot': ball,
        'shape': sb.Sphere(0.1),
        'shapes': sb.Sphere(0.1),
        'shape_a': sb.Sphere(0.1),
        'shape_b': sb.Box(vector),
        'size': vector,
        'HeightField.size': (1.0, 1.0),
        'snapshot': held[-1],
        'step_ns': world.time_step_ns,
        'tau': vector,
        'time_ns': world.step_count * world.time_step_ns,
        'times': [0.1, 0.2],
        'trajectory': sb.Trajectory(['joint_2'], [0.1], [[0.2]]),
        'triangles': [[0, 1, 2]],
        'u': np.zeros(7),
        'values': np.zeros(7),
        'vertices': np.eye(3),
        'run': None,
    }


@cache
def _other_world() -> sb.World:
    """Return another world that nothing may change."""
    world = sb.World(time_step=2e-3)
    world.load_urdf(path_of('pendulum'))
    return world


def _other() -> sb.Robot:
    return _other_world().robots['pendulum']


def _members(holder: Any) -> list[str]:
    """Return the public members, without Python's own collection members."""

    def is_own(name: str) -> bool:
        # does not read the value, since earlier calls may cause a refusal
        own = inspect.getattr_static(type(holder), name, None)
        member = getattr(holder, name) if own is None else getattr(own, '__func__', own)
        if inspect.ismodule(member) or (
            isinstance(member, type)
            and (
                issubclass(member, Exception)
                or inspect.isabstract(member)
                or member.__module__.startswith(_NOT_MADE)
            )
        ):
            return False
        place = holder.__name__ if holder is sb.dynamics else 'sim_bridge'
        return not callable(member) or getattr(member, '__module__', '').startswith(place)

    return [name for name in dir(holder) if not name.startswith('_') and is_own(name)]


def _parameters(holder: Any, name: str) -> Mapping[str, inspect.Parameter]:
    """Return a method's, a function's or a class' parameters, by name."""
    own = inspect.getattr_static(type(holder), name, None)
    member = None if isinstance(own, property) else getattr(holder, name, None)
    if not callable(member):
        return {}
    return {
        each: parameter
        for each, parameter in inspect.signature(member).parameters.items()
        if parameter.kind is not parameter.VAR_KEYWORD
    }


def call_member(
    holder: Any, name: str, given: Mapping[str, Any], sound: Mapping[str, Any]
) -> bool:
    """Call a method, or read and set an attribute; return whether it was accepted."""
    try:
        member = getattr(holder, name)
        if not callable(member):
            if not inspect.ismodule(holder):
                setattr(holder, name, given.get('value', member))
            return True
        arguments = {
            each: given.get(each, sound.get(f'{name}.{each}', sound.get(each)))
            for each, parameter in _parameters(holder, name).items()
            if each in given or parameter.default is parameter.empty
        }
        if name != 'step' or _is_small(arguments.get('n')):
            member(**arguments)
    except sb.SimBridgeError as err:
        check_words(err)
        return False
    except AttributeError as err:
        # Python raises AttributeError for read-only properties and tuples
        if traceback.extract_tb(err.__traceback__)[-1].name not in (
            '__setattr__',
            '__getattr__',
            call_member.__name__,
        ):
            raise
        return False
    return True


def _is_small(number: object) -> bool:
    return not isinstance(number, int) or abs(number) <= _MOST_STEPS
