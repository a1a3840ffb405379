"""The world: several robots, reproducibility, saving, resetting, and helpful errors."""

from __future__ import annotations

import numpy as np
import pytest
from robots import joint, link, pendulum, robot, rotor

import sim_bridge as sb
from sim_bridge.description import load_description


def swinging(seed=0):
    """Return a world with two pendulums and a noisy sensor."""
    world = sb.World(seed=seed)
    noisy = (
        '<gazebo reference="bob"><sensor name="imu" type="imu"><imu><linear_acceleration><x>'
        '<noise type="gaussian"><stddev>0.1</stddev></noise>'
        '</x></linear_acceleration></imu></sensor></gazebo>'
    )
    rubbing = '<dynamics friction="0.01"/>'
    for k, angle in enumerate((0.5, 1.5)):
        bob = world.load_urdf(pendulum(length=0.4 + k, gazebo=noisy, inside=rubbing))
        bob.q = [angle]
    return world


def test_same_inputs_give_the_same_hash():
    """Reach the same hash in two worlds, and another one with another command, step or seed."""

    def run(seed=0, effort=0.1, steps=300):
        world = swinging(seed)
        for k in range(steps):
            for body in world.robots.values():
                body.u = [effort * np.sin(0.01 * k)]
            world.step()
        return world.state_hash()

    assert run() == run()
    assert len({run(), run(seed=1), run(effort=0.2), run(steps=301)}) == 4


def test_restore_goes_back_bit_for_bit():
    """Repeat the same future from a snapshot."""
    world = swinging()
    world.step(100)
    snapshot = world.save()
    at_save = world.state_hash()
    world.step(100)
    future = world.state_hash()
    world.restore(snapshot)
    assert world.state_hash() == at_save
    world.step(100)
    assert world.state_hash() == future


def test_robots_do_not_disturb_each_other():
    """Move two robots in one world as each moves alone."""
    both, alone = swinging(), sb.World()
    only = alone.load_urdf(pendulum(length=1.4, inside='<dynamics friction="0.01"/>'))
    only.q = [1.5]
    both.step(500)
    alone.step(500)
    np.testing.assert_allclose(list(both.robots.values())[1].q, only.q, rtol=1e-12)


def test_second_robot_keeps_the_first_ones_state():
    """Keep state and changed parameters when a robot joins a running world."""
    world = sb.World()
    first = world.load_urdf(rotor())
    first.dq = [2.0]
    first.joint('joint').damping = 0.25
    world.step(10)
    q = first.q[0]
    second = world.load_urdf(rotor())
    assert list(world.robots) == ['robot', 'robot_2']
    assert first.q[0] == q
    assert first.joint('joint').damping == 0.25
    second.dq = [1.0]
    world.step()
    assert first.q[0] > q
    assert second.q[0] == pytest.approx(1e-3)


def test_reset_goes_back_to_the_start_and_keeps_the_clock():
    """Restore poses, drop efforts; zero the time only on request."""
    world = swinging()
    bob = world.robots['robot']
    bob.u = [1.0]
    world.step(50)
    world.reset()
    assert bob.q[0] == bob.dq[0] == bob.u[0] == 0.0
    assert world.step_count == 50
    world.reset(time=True)
    assert world.step_count == 0
    assert world.time == 0.0


def test_base_pose_and_orientation():
    """Load robots at another pose, fixed and free."""
    world = sb.World()
    quarter = (0, 0, np.sqrt(0.5), np.sqrt(0.5))
    pair = robot(link('a'), link('b'), joint('j', 'a', 'b', xyz=(1, 0, 0)))
    fixed = world.load_urdf(pair, base='fixed', position=(5, 0, 0), orientation=quarter)
    np.testing.assert_allclose(fixed.link('b').p, (5, 1, 0), atol=1e-15)
    free = world.load_urdf(pair, position=(0, 0, 3), orientation=quarter)
    np.testing.assert_allclose(free.link('b').p, (0, 1, 3), atol=1e-15)
    assert fixed.fixed_base
    assert not free.fixed_base


ARM = (
    link('a'),
    link('b'),
    link('c'),
    link('d'),
    joint('i', 'a', 'b'),
    joint('j', 'b', 'c'),
    joint('k', 'c', 'd'),
)


@pytest.mark.parametrize(
    ('base', 'is_fixed'), [('file', False), ('auto', True), ('fixed', True), ('free', False)]
)
def test_an_arm_is_held_as_set(base, is_fixed):
    """Hold an arm without a link `world` by the rule of nodes, or as set."""
    assert sb.World().load_urdf(robot(*ARM), base=base).fixed_base is is_fixed


@pytest.mark.parametrize(('given', 'new'), [(True, 'fixed'), (False, 'free')])
@pytest.mark.parametrize(
    'load',
    [
        lambda text, given: sb.World().load_urdf(text, fixed_base=given),
        lambda text, given: sb.World().load_urdf(text, None, given),
        lambda text, given: sb.World().add_robot(load_description(text), fixed_base=given),
    ],
)
def test_the_former_name_of_the_base_warns(load, given, new):
    """Take `fixed_base`, also as the third argument, with a warning at the caller."""
    text = robot(link('a'), link('b'), joint('j', 'a', 'b'))
    with pytest.warns(DeprecationWarning, match=f"base='{new}'") as told:
        loaded = load(text, given)
    assert loaded.fixed_base is given
    assert {each.filename for each in told} == {__file__}


@pytest.mark.parametrize('wrong', ['loose', 3])
def test_other_bases_are_refused(wrong):
    """Refuse values of `base` without meaning; take None for 'file'."""
    text = robot(link('a'), link('b'), joint('j', 'a', 'b'))
    assert not sb.World().load_urdf(text, None, None).fixed_base
    with pytest.raises(sb.InvalidValueError, match='base'):
        sb.World().load_urdf(text, base=wrong)


def test_tree_of_links():
    """Walk from links to joints and back."""
    body = sb.World().load_urdf(
        robot(
            link('a', 1.0, (0, 0, 0.1)),
            link('b', 3.0),
            link('c', 0.0),
            joint('j', 'a', 'b', xyz=(1, 0, 0)),
            joint('f', 'b', 'c', 'fixed'),
        )
    )
    assert body.root_link.name == 'a'
    assert [x.name for x in body.links] == ['a', 'b', 'c']
    assert [x.name for x in body.root_link.children] == ['b']
    assert body.link('c').parent.name == 'b'
    assert body.link('c').joint.name == 'f'
    assert body.joint('j').parent_link.name == 'a'
    assert body.joint('j').child_link.name == 'b'
    assert body.joint_names == ['j']
    assert body.mass == 4.0
    np.testing.assert_allclose(body.center_of_mass, (0.75, 0, 0.025))
    np.testing.assert_allclose(body.link('a').wc, (0, 0, 0.1))


def test_time_is_exact():
    """Count steps, not floating-point sums."""
    world = sb.World(time_step=1e-4)
    world.load_urdf(rotor())
    world.step(123_457)
    assert world.step_count == 123_457
    assert world.time == 12.3457
    assert world.time_step_ns == 100_000


@pytest.mark.parametrize(
    ('options', 'words'),
    [
        ({'time_step': 0.0}, ['time_step = 0.0', '[s]']),
        ({'time_step': float('nan')}, ['time_step = nan']),
        ({'gravity': (0, 0)}, ['gravity = (0, 0)', 'three']),
        ({'solver': 'magic'}, ["solver = 'magic'", "'direct'"]),
        ({'solver': ['direct']}, ["solver = ['direct']"]),
        ({'seed': -1}, ['seed = -1']),
    ],
)
def test_wrong_world_options(options, words):
    """Name the option, its value and the accepted values."""
    with pytest.raises(sb.InvalidValueError) as caught:
        sb.World(**options)
    assert all(word in str(caught.value) for word in words)


def test_unknown_names_list_the_known_ones():
    """List the existing names, and suggest the probable one."""
    body = sb.World().load_urdf(pendulum())
    for call, words in (
        (lambda: body.joint('jiont'), ["'jiont'", "'joint'?", "robot 'robot'"]),
        (lambda: body.link('bop'), ["'bop'", "'bob'?", 'world, bob']),
        (lambda: body.device('imu'), ["'imu'", 'no sensor at all']),
    ):
        with pytest.raises(sb.UnknownNameError) as caught:
            call()
        assert all(word in str(caught.value) for word in words)


@pytest.mark.parametrize('wrong', ['up', (1.0, 2.0), (0.0, 'x', 0.0), (0.0, 0.0, float('nan'))])
def test_wrong_pushes_are_named(wrong):
    """Name the link, and do not push it."""
    bob = sb.World().load_urdf(pendulum()).link('bob')
    for push, what in (
        (bob.add_force, 'force'),
        (bob.add_torque, 'torque'),
        (lambda point: bob.add_force((1, 0, 0), point), 'point'),
    ):
        with pytest.raises(sb.InvalidValueError, match=f"{what} = .*link 'bob'"):
            push(wrong)
    assert not bob.robot.world.state.wrench.any()


@pytest.mark.parametrize('integrator', ['midpoint', 'momentum', 'rk5'])
def test_a_push_lasts_for_one_step(integrator):
    """Change the momentum by F h and h r x F for any number of steps per call, to the bit."""
    hashes, speeds = [], []
    for calls in ((5,), (1, 4), (1, 1, 1, 1, 1), (0, 2, 3)):
        world = sb.World(gravity=(0, 0, 0), integrator=integrator)
        ball = world.add_body(sb.Sphere(0.5), mass=2.0).root_link
        noisy = world.load_urdf(
            pendulum(
                gazebo=(
                    '<gazebo reference="bob"><sensor name="imu" '
                    'type="imu"><imu><linear_acceleration><x><noise type="gaussian">'
                    '<stddev>0.1</stddev></noise></x></linear_acceleration></imu></sensor></gazebo>'
                )
            )
        )
        noisy.link('bob').add_force((1.0, 2.0, 0.0))
        ball.add_force((30.0, 0.0, 0.0), point=(0.0, 0.0, 0.1)), ball.add_torque((0.0, 0.0, 0.7))
        for n in calls:
            world.step(n)
        assert world.report.steps == calls[-1] and world.take_worst().unconverged == 0
        hashes.append(world.state_hash()), speeds.append((*ball.v, *(ball.I @ ball.w)))
    assert len(set(hashes)) == 1
    np.testing.assert_allclose(speeds[0], (0.015, 0, 0, 0, 0.003, 0.0007), rtol=1e-9, atol=1e-12)


def test_wrong_commands_change_nothing():
    """Refuse wrong sizes, unknown names and non-finite values as a whole."""
    body = sb.World().load_urdf(pendulum())
    body.u = [0.5]
    for values, joints, error in (
        ([1.0, 2.0], None, sb.InvalidValueError),
        ([1.0], ['nope'], sb.UnknownNameError),
        ([float('inf')], ['joint'], sb.InvalidValueError),
    ):
        with pytest.raises(error):
            body.command_effort(values, joints)
    assert body.u[0] == 0.5


def test_non_finite_effort_stops_the_step_and_keeps_the_state():
    """Name joint and value; continue once it is corrected."""
    world = sb.World()
    body = world.load_urdf(pendulum())
    body.q = [0.3]
    world.step(10)
    q, steps = body.q[0], world.step_count
    body.u[0] = np.nan
    culprit = r"effort u = nan at robot 'robot', joint 'joint'"
    with pytest.raises(sb.SimulationError, match=culprit):
        world.step(5)
    assert (body.q[0], world.step_count) == (q, steps)
    body.u[0] = 0.0
    world.step(5)
    assert world.step_count == steps + 5


def test_free_base_without_mass_is_refused():
    """Name the missing part."""
    with pytest.raises(sb.SimBridgeError, match="mass of the free body = 0.0 .*link 'nothing'"):
        sb.World().load_urdf(robot(link('nothing', 0.0)), base='free')


def test_freely_spinning_point_mass_is_refused():
    """Name the link and its inertia; accept it if fixed to the world."""
    point = robot(link('point', 1.0, inertia=(0, 0, 0)))
    with pytest.raises(sb.InvalidValueError, match=r"inertia of the free body.*link 'point'"):
        sb.World().load_urdf(point)
    assert sb.World().load_urdf(point, base='fixed').mass == 1.0


def test_robot_without_links_is_loaded_and_does_nothing():
    """Step a world with an empty robot beside a real one."""
    world = sb.World()
    empty = world.load_urdf('<robot name="empty"/>')
    bob = world.load_urdf(pendulum())
    bob.q = [0.5]
    world.step(10)
    assert empty.joint_names == []
    assert bob.dq[0] < 0.0


def test_joint_parameters_are_checked():
    """Refuse a negative damping by name."""
    body = sb.World().load_urdf(pendulum())
    culprit = r"damping = -1 \(robot 'robot', joint 'joint'\)"
    with pytest.raises(sb.InvalidValueError, match=culprit):
        body.joint('joint').damping = -1


def test_stops_are_kept_in_order():
    """Refuse a stop beyond the other one, and name both values."""
    hinge = sb.World().load_urdf(pendulum()).joint('joint')
    hinge.lower, hinge.upper = -0.5, 1.5
    with pytest.raises(sb.InvalidValueError, match=r"lower = 2.0 \(.*'joint'\).* 1.5"):
        hinge.lower = 2.0
    with pytest.raises(sb.InvalidValueError, match=r"upper = -1.0 \(.*'joint'\).* -0.5"):
        hinge.upper = -1.0
    assert (hinge.lower, hinge.upper) == (-0.5, 1.5)


WRONG = (float('nan'), float('inf'), 'x', '1', None, [1.0, 2.0], [[0.0]], [], [[1.0], [1.0, 2.0]])


@pytest.mark.parametrize('what', ['q', 'dq', 'u'])
@pytest.mark.parametrize('value', WRONG)
def test_wrong_joint_coordinates_change_nothing(what, value):
    """Refuse non-finite values, and name robot and joint."""
    hinge = sb.World().load_urdf(pendulum()).joint('joint')
    setattr(hinge, what, 0.25)
    with pytest.raises(sb.InvalidValueError, match='^' + what + r" = .*robot 'robot', joint"):
        setattr(hinge, what, value)
    assert getattr(hinge, what) == 0.25
    setattr(hinge, what, [0.5])
    assert getattr(hinge, what) == 0.5


@pytest.mark.parametrize('what', ['q', 'dq', 'u'])
@pytest.mark.parametrize('value', ['x', [None], ['1'], [1j]])
def test_robot_coordinates_must_be_numbers(what, value):
    """Refuse non-numbers; non-finite values written into a view are reported by the next step."""
    body = sb.World().load_urdf(pendulum())
    with pytest.raises(sb.InvalidValueError, match='^' + what + r" = .*robot 'robot'"):
        setattr(body, what, value)
    assert getattr(body, what)[0] == 0.0
    getattr(body, what)[:] = np.nan
    assert np.isnan(getattr(body, what)[0])


def several_axes(kind):
    """Return the joint between two links, of a type with several coordinates or none."""
    xml = robot(link('world', 0.0), link('b', 1.0), joint('j', 'world', 'b', kind))
    return sb.World().load_urdf(xml).joint('j')


def test_floating_joint_takes_a_pose():
    """Normalize the quaternion; refuse zero quaternions, and invalid poses."""
    free = several_axes('floating')
    free.q = [1, 2, 3, 0, 0, 3, 4]
    np.testing.assert_allclose(free.q, [1, 2, 3, 0, 0, 0.6, 0.8], rtol=1e-15)
    for value in ([0] * 7, [np.nan] * 7, [0, 0, 0, 1], 1.0, None):
        with pytest.raises(sb.InvalidValueError, match=r"q = .*joint 'j'"):
            free.q = value
    for what in ('dq', 'u'):
        with pytest.raises(sb.InvalidValueError, match='expected 6 finite numbers'):
            setattr(free, what, [1.0] * 7)
    np.testing.assert_allclose(free.q, [1, 2, 3, 0, 0, 0.6, 0.8], rtol=1e-15)


def test_fixed_joint_has_no_coordinates_to_set():
    """Refuse a number instead of ignoring it."""
    with pytest.raises(sb.InvalidValueError, match='no coordinates'):
        several_axes('fixed').q = 1.0


@pytest.mark.parametrize('kind', ['planar', 'floating'])
def test_joint_accelerations_are_a_copy(kind):
    """Keep the acceleration unchanged when the returned array is written."""
    moving = several_axes(kind)
    before = moving.ddq.copy()
    moving.ddq[:] = 7.0
    np.testing.assert_array_equal(moving.ddq, before)


def test_writing_the_state_is_seen_at_once():
    """Compute poses from newly written coordinates, without a step."""
    body = sb.World().load_urdf(pendulum(length=2.0))
    np.testing.assert_allclose(body.center_of_mass, (0, 0, -2))
    body.q[0] = np.pi / 2
    np.testing.assert_allclose(body.center_of_mass, (-2, 0, 0), atol=1e-12)
    body.dq[0] = 1.0
    np.testing.assert_allclose(body.link('bob').w, (0, 1, 0))


def test_public_names_are_all_there():
    """Offer every name of __all__, by attribute and by star import, and name missing ones."""
    offered = {}
    exec('from sim_bridge import *', offered)
    for name in sb.__all__:
        assert getattr(sb, name) is offered[name]
        assert name in dir(sb)
    with pytest.raises(AttributeError, match="no attribute 'Wrold'"):
        sb.Wrold  # noqa: B018 — the access is the test
