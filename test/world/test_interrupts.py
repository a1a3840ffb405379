"""A call interrupted at any line finishes, or leaves the world unchanged."""

import functools
import itertools

from interrupts import Interrupt
import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.description import sensors_from_mapping

# interrupted lines of each call in the standard tests
SAMPLES = 4
SOME_BOX = sb.Box((0.1, 0.1, 0.1))


def made():
    """Return a new world before its first step."""
    world = sb.World(time_step=1e-3, sleep=sb.Sleep(linear=1e-2, angular=1e-2, steps=30))
    world.add_ground()
    world.load_urdf('pendulum', position=(0.0, 3.0, 1.0))
    world.load_urdf('floating_box', position=(0.0, -3.0, 0.5))
    a = world.add_body(SOME_BOX, 'a', position=(1.0, 0.0, 0.05))
    b = world.add_body(SOME_BOX, 'b', position=(1.0, 0.0, 0.15))
    c = world.add_body(SOME_BOX, 'c', position=(2.0, 0.0, 0.5))
    world.add_body(sb.Sphere(0.1), 'd', mass=1.0, position=(3.0, 0.0, 0.1))
    world.add_joint('hinge', c, None, anchor=(2.0, 0.0, 0.8), name='hinge')
    world.add_joint('ball', a, b, anchor=(1.0, 0.0, 0.1), tree=False, name='loop')
    return world


@functools.cache
def template():
    """Return a world after some steps, with a sleeping body."""
    world = made()
    world.step(60)
    joint(world).control = 'velocity'
    assert world.robots['d'].is_asleep
    return world


def prepared():
    """Return a copy after one more step."""
    world = template().copy()
    world.step()
    assert world.robots['d'].is_asleep
    return world


def changed():
    """Return a world with stale arrays and calls."""
    world = prepared()
    world.robots['d'].root_link.m = 2.0
    world.robots['c'].root_link.gravity = False
    world.add_body(SOME_BOX, 'e', position=(5.0, 0.0, 1.0))
    return world


def joint(world):
    """Return a tree joint."""
    return world.robots['pendulum'].joints[0]


def link(world, name='d'):
    """Return a body's link."""
    return world.robots[name].root_link


def geometry(world, name='d'):
    """Return a geometry."""
    return world.robots[name].geometries[0]


def put(thing, **values):
    """Set attributes."""
    for name, value in values.items():
        setattr(thing, name, value)


def pushed():
    """Return a world with pending pushes."""
    world = prepared()
    link(world).add_force((0.0, 0.0, 1.0))
    return world


def field(world):
    """Add a force field."""
    world.add_force_field(sb.UniformField(force=(0.0, 0.0, 0.1)), 'wind')


def measured():
    """Return a world whose sensors have noise."""
    world = sb.World(time_step=1e-3)
    drift = {'angular_velocity': {'stddev': 0.1, 'bias_mean': 1.0, 'bias_stddev': 0.1}}
    world.load_urdf(
        'floating_box',
        sensors=sensors_from_mapping(
            {name: {'type': 'gyro', 'link': 'box', 'noise': drift} for name in ('one', 'other')}
        ),
    )
    world.step(5)
    return world


DRIVEN = """
Driven is Physics3D.System:
    bar is Physics3D.Bodies.RigidBody:
        inertia:
            mass: 2.0
            tensor: Physics3D.Bodies.Inertia.symmetric_tensor({0.1, 0.2, 0.3}, 0, 0, 0)
        pin is Physics3D.Interactions.MateConnector
    post is Physics3D.Interactions.MateConnector
    hinge is Physics3D.Interactions.Hinge:
        connectors: [post, bar.pin]
    motor is Physics3D.Interactions.RotationalVelocityMotor:
        connectors: [post, bar.pin]
        gain: 10.0
        zero_speed_as_spring: true
        zero_speed_spring_flexibility.stiffness: 5.0
    spring is Physics3D.Interactions.TorsionSpring:
        connectors: [post, bar.pin]
    range is Physics3D.Interactions.RotationalRange:
        connectors: [post, bar.pin]
        start: -0.5
        end: 0.5
"""


@functools.cache
def driven_template():
    """Return a world with an OpenPLX scene whose motor, spring and range were changed."""
    world = sb.World(time_step=1e-3)
    scene = world.load_openplx(DRIVEN)
    signal(world, 'motor/target_angular_velocity_input', 0.5)
    signal(world, 'motor/torque_range_input', [-3.0, 2.0])
    for name in ('spring', 'range'):
        signal(world, f'{name}/enable_interaction_input', False)
    assert scene.name == 'Driven'
    world.step(3)
    return world


def driven():
    """Return a copy of that world."""
    return driven_template().copy()


def signal(world, name, value):
    """Set an input of the scene."""
    world.openplx['Driven'].inputs[name].set(value)


CALLS = {
    'states of devices': (measured, lambda w: w.robots['floating_box'].initialize_device_states()),
    'restart of a scene': (driven, lambda w: w.openplx['Driven'].restart()),
    'effort range': (driven, lambda w: signal(w, 'motor/torque_range_input', [-1.0, 1.0])),
    'velocity of a holding motor': (
        driven,
        lambda w: signal(w, 'motor/target_angular_velocity_input', 0.0),
    ),
    'enabled spring': (driven, lambda w: signal(w, 'spring/enable_interaction_input', True)),
    'enabled range': (driven, lambda w: signal(w, 'range/enable_interaction_input', True)),
    'disabled motor': (driven, lambda w: signal(w, 'motor/enable_interaction_input', False)),
    'first step': (made, lambda w: w.step()),
    'step': (prepared, lambda w: w.step()),
    'step of a changed world': (changed, lambda w: w.step()),
    'step with a push': (pushed, lambda w: w.step()),
    'add_force': (prepared, lambda w: link(w).add_force((0.0, 0.0, 1.0))),
    'add_body': (prepared, lambda w: w.add_body(sb.Sphere(0.1), 'e', position=(0, 2, 1))),
    'load_urdf': (prepared, lambda w: w.load_urdf('arm', position=(0, 5, 0))),
    'add_copy': (prepared, lambda w: w.add_copy(w.robots['pendulum'], position=(0, 6, 1))),
    'add_joint to the tree': (
        prepared,
        lambda w: w.add_joint('hinge', w.robots['d'], None, anchor=(3, 0, 0.1), name='j'),
    ),
    'add_joint as a constraint': (
        prepared,
        lambda w: w.add_joint('ball', None, w.robots['d'], anchor=(3, 0, 0.1), tree=False),
    ),
    'remove_joint of the tree': (prepared, lambda w: w.remove_joint(w.joints['hinge'])),
    'remove_joint of a constraint': (prepared, lambda w: w.remove_joint(w.joints['loop'])),
    'remove': (prepared, lambda w: w.remove('b')),
    'add_geometry': (prepared, lambda w: link(w).add_geometry(sb.Sphere(0.2))),
    'remove a geometry': (prepared, lambda w: geometry(w, 'b').remove()),
    'reset': (prepared, lambda w: w.reset(time=True)),
    'save': (prepared, lambda w: w.save()),
    'copy': (prepared, lambda w: w.copy()),
    'state_hash': (changed, lambda w: w.state_hash()),
    'energy': (changed, lambda w: w.energy()),
    'momentum': (changed, lambda w: w.momentum()),
    'contacts': (changed, lambda w: list(w.contacts)),
    'pose': (changed, lambda w: link(w).p),
    'solver': (prepared, lambda w: put(w, solver='iterative')),
    'sleep': (prepared, lambda w: put(w, sleep=None)),
    'sleep by means': (
        prepared,
        lambda w: put(w.robots['c'], sleep=sb.Sleep(0.1, 0.1, 4, average_samples=3)),
    ),
    'gravity': (prepared, lambda w: put(w, gravity=(0.0, 0.0, -1.0))),
    'gravity as a function': (prepared, lambda w: put(w, gravity=lambda p: -p)),
    'force field': (prepared, field),
    'q': (prepared, lambda w: put(w.robots['pendulum'], q=np.full(1, 0.1))),
    'q of a joint': (prepared, lambda w: put(joint(w), q=0.1)),
    'u': (prepared, lambda w: put(w.robots['pendulum'], u=[0.1])),
    'damping': (prepared, lambda w: put(joint(w), damping=0.1)),
    'friction': (prepared, lambda w: put(joint(w), friction=0.1)),
    'control': (prepared, lambda w: put(joint(w), control='position')),
    'target': (prepared, lambda w: put(joint(w), target_velocity=0.1)),
    'drop_commands': (prepared, lambda w: w.robots['pendulum'].drop_commands()),
    'hold': (prepared, lambda w: put(w.robots['pendulum'], hold=True)),
    'mass': (prepared, lambda w: put(link(w), m=3.0)),
    'medium': (prepared, lambda w: put(link(w), gravity=False)),
    'base pose': (prepared, lambda w: w.robots['b'].set_base_pose((1.0, 0.3, 0.2))),
    'base velocity': (prepared, lambda w: w.robots['b'].set_base_velocity((1.0, 0.3, 0.2))),
    'motion': (prepared, lambda w: put(w.robots['d'], motion='static')),
    'disable': (prepared, lambda w: w.robots['c'].disable()),
    'enable': (prepared, lambda w: w.robots['d'].enable()),
    'enabled': (prepared, lambda w: put(geometry(w), enabled=False)),
    'material': (prepared, lambda w: put(geometry(w), material=sb.Material('ice', friction=0.0))),
    'contact material': (
        prepared,
        lambda w: w.materials.set_contact_material(
            'default', 'default', sb.ContactMaterial(friction=0.1)
        ),
    ),
    'groups': (prepared, lambda w: put(geometry(w), groups=['x'])),
    'place of a geometry': (prepared, lambda w: put(geometry(w), position=(0.0, 0.0, 0.01))),
    'exclude': (prepared, lambda w: w.exclude(link(w, 'a'), link(w))),
    'compliance': (prepared, lambda w: put(w.joints['loop'], cfm=1e-3)),
    'anchor': (prepared, lambda w: put(w.joints['loop'], anchor=(1.0, 0.0, 0.11))),
    'break_force': (prepared, lambda w: put(w.joints['loop'], break_force=10.0)),
    'is_broken': (prepared, lambda w: put(w.joints['loop'], is_broken=True)),
    'step_count': (prepared, lambda w: put(w, step_count=7)),
}


def restored():
    """Return a world beside an earlier snapshot."""
    world = prepared()
    snapshot = world.save()
    link(world).m = 5.0
    world.solver = 'iterative'
    world.step(3)
    return world, snapshot


def picture(world):
    """Return all values that a call must keep or change as a whole."""
    robots = world.robots.values()
    return (
        world.state_hash(),
        world.step_count,
        tuple(world.robots),
        tuple(world.joints),
        tuple(world.materials),
        tuple(len(robot.geometries) for robot in robots),
        tuple(len(each.geometries) for robot in robots for each in robot.links),
    )


@functools.cache
def ends(name):
    """Return a world's pictures before and after a call, each with its hash after more steps."""
    make, act = cases()[name]
    found = []
    for is_called in (False, True):
        world = make()
        if is_called:
            act(world)
        first = picture(world)
        world.step(3)
        found.append((first, world.state_hash()))
    return found


def cases():
    """Return all calls by name: the world's constructor, and the call."""
    snapshots = {}

    def make():
        world, snapshots['last'] = restored()
        return world

    return CALLS | {'restore': (make, lambda w: w.restore(snapshots['last']))}


def check(name, line, error=KeyboardInterrupt):
    """
    Interrupt a call at a line; return whether it was reached.

    After a MemoryError without effect, the call is repeated.
    """
    make, act = cases()[name]
    world = make()
    with Interrupt(line, error) as interrupt:
        try:
            act(world)
        except error:
            assert interrupt.place
    if not interrupt.place:
        return False
    seen, (before, after) = picture(world), ends(name)
    assert seen in (before[0], after[0]), f'{name}, interrupted at {interrupt.place}'
    if error is MemoryError and seen == before[0]:
        act(world)
        seen = picture(world)
        assert seen == after[0], f'{name}, repeated after an interrupt at {interrupt.place}'
    world.step(3)
    assert world.state_hash() == dict(ends(name))[seen], (
        f'{name}, interrupted at {interrupt.place}'
    )
    return True


def places(name):
    """Return the line indices at which to interrupt a call."""
    make, act = cases()[name]
    world = make()
    with Interrupt() as interrupt:
        act(world)
    return interrupt.places()


NAMES = [*CALLS, 'restore']


@pytest.mark.parametrize('name', NAMES)
def test_interrupted_call_finishes_or_does_nothing(name):
    """Interrupt calls at some of their lines, by both errors in turn."""
    found = places(name)
    chosen = np.unique(np.linspace(0, len(found) - 1, SAMPLES).astype(int)).tolist()
    for at, error in zip(chosen, itertools.cycle((KeyboardInterrupt, MemoryError))):
        check(name, found[at], error)


@pytest.mark.parametrize('name', ['remove a geometry', 'motion'])
def test_calls_undone_in_their_last_lines_can_be_repeated(name):
    """Interrupt calls after they have changed lists and arrays in place."""
    found = places(name)
    for at in found[-8:]:
        check(name, at, MemoryError)


@pytest.mark.parametrize('error', [KeyboardInterrupt, MemoryError])
def test_first_step_interrupted_before_its_kernel_changes_nothing(error):
    """Interrupt the last lines of a step that first joins the links of new constraints."""
    for at in places('first step')[-20:]:
        check('first step', at, error)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize('error', [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize('name', NAMES)
def test_call_interrupted_at_every_line_finishes_or_does_nothing(name, error):
    """Interrupt calls at the first and the last run of each of their lines."""
    for at in places(name):
        check(name, at, error)
