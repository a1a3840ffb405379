"""Calls of dynamics: for many configurations, into arrays, for worlds; refused arguments."""

from __future__ import annotations

import sys
import threading

from calls import calls_of
from joint_robots import on_ball
import numpy as np
import pinocchio as pin
import pytest
from shipped import path_of

import sim_bridge as sb
from sim_bridge import dynamics

COUNT = 5
FINGERS = """<robot name="fingers"><link name="world"/>
  <link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
    iyz="0"/></inertial></link><link name="b"/><link name="c"/><link name="d"/>
  <joint name="one" type="revolute"><parent link="world"/><child link="a"/>
    <limit lower="0.5" upper="1.5" effort="1" velocity="1"/></joint>
  <joint name="two" type="prismatic"><parent link="a"/><child link="b"/>
    <limit lower="-9" upper="9" effort="1" velocity="1"/>
    <mimic joint="one" multiplier="-2" offset="0.1"/></joint>
  <joint name="three" type="prismatic"><parent link="a"/><child link="c"/>
    <limit lower="2" upper="3" effort="1" velocity="1"/></joint>
  <joint name="four" type="continuous"><parent link="a"/><child link="d"/></joint>
</robot>"""


@pytest.fixture(scope='module', params=['arm', 'quadruped', 'ball', 'block'])
def robot(request):
    """Return a robot: with hinges, with a free base, with a ball joint, without joints."""
    if request.param == 'ball':
        return on_ball()
    if request.param == 'block':
        return sb.World().add_body(sb.Box((0.1, 0.2, 0.3)), mass=2.0)
    return sb.World().load_urdf(path_of(request.param), collisions='none')


class Inputs:
    """A robot's random configurations, velocities, and efforts or accelerations, as rows."""

    def __init__(self, robot, count=COUNT):
        rng = np.random.default_rng(1)
        self.q = dynamics.random_configuration(robot, 2, count)
        self.dq, self.x = rng.normal(size=(2, count, len(dynamics.velocity(robot))))


CALLS = {
    'mass_matrix': lambda robot, q, dq, x, **more: dynamics.mass_matrix(robot, q, **more),
    'inverse_mass_matrix': lambda robot, q, dq, x, **more: dynamics.inverse_mass_matrix(
        robot, q, **more
    ),
    'bias_forces': lambda robot, q, dq, x, **more: dynamics.bias_forces(robot, q, dq, **more),
    'gravity_forces': lambda robot, q, dq, x, **more: dynamics.gravity_forces(robot, q, **more),
    'coriolis_matrix': lambda robot, q, dq, x, **more: dynamics.coriolis_matrix(
        robot, q, dq, **more
    ),
    'inverse_dynamics': lambda robot, q, dq, x, **more: dynamics.inverse_dynamics(
        robot, x, q, dq, **more
    ),
    'forward_dynamics': lambda robot, q, dq, x, **more: dynamics.forward_dynamics(
        robot, x, q, dq, **more
    ),
    'inverse_dynamics_derivatives': lambda robot, q, dq, x, **more: np.stack(
        dynamics.inverse_dynamics_derivatives(robot, x, q, dq, **more), axis=-3
    ),
    'forward_dynamics_derivatives': lambda robot, q, dq, x, **more: np.stack(
        dynamics.forward_dynamics_derivatives(robot, x, q, dq, **more), axis=-3
    ),
    'jacobian': lambda robot, q, dq, x, **more: dynamics.jacobian(
        robot, robot.links[-1], None, q, **more
    ),
    'jacobian of a point': lambda robot, q, dq, x, **more: dynamics.jacobian(
        robot, robot.links[-1].name, (0.1, 0.2, 0.3), q, **more
    ),
    'jacobian_derivative': lambda robot, q, dq, x, **more: dynamics.jacobian_derivative(
        robot, robot.links[-1], None, q, dq, **more
    ),
    'forward_kinematics': lambda robot, q, dq, x, **more: dynamics.forward_kinematics(
        robot, None, q, **more
    ),
    'center_of_mass': lambda robot, q, dq, x, **more: dynamics.center_of_mass(robot, q, **more),
    'center_of_mass_jacobian': lambda robot, q, dq, x, **more: dynamics.center_of_mass_jacobian(
        robot, q, **more
    ),
    'center_of_mass_jacobian_derivative': lambda robot, q, dq, x, **more: (
        dynamics.center_of_mass_jacobian_derivative(robot, q, dq, **more)
    ),
    'centroidal_momentum': lambda robot, q, dq, x, **more: dynamics.centroidal_momentum(
        robot, q, dq, **more
    ),
    'centroidal_momentum_matrix': lambda robot, q, dq, x, **more: (
        dynamics.centroidal_momentum_matrix(robot, q, **more)
    ),
    'centroidal_momentum_matrix_derivative': lambda robot, q, dq, x, **more: (
        dynamics.centroidal_momentum_matrix_derivative(robot, q, dq, **more)
    ),
    'kinetic_energy': lambda robot, q, dq, x, **more: dynamics.kinetic_energy(
        robot, q, dq, **more
    ),
    'potential_energy': lambda robot, q, dq, x, **more: dynamics.potential_energy(
        robot, q, **more
    ),
    'integrate': lambda robot, q, dq, x, **more: dynamics.integrate(robot, dq, q, **more),
    'difference': lambda robot, q, dq, x, **more: (
        dynamics.difference(robot, q, q[::-1], **more)
        if np.ndim(q) == 2
        else dynamics.difference(robot, q, x, **more)
    ),
    'interpolate': lambda robot, q, dq, x, **more: dynamics.interpolate(
        robot, q, dynamics.neutral_configuration(robot), 0.3, **more
    ),
}


@pytest.mark.parametrize('name', sorted(CALLS.keys() - {'difference'}))
def test_batched_calls_match_single_calls(robot, name):
    """Give the same bits for rows, lists and output arrays, without changing the world."""
    call, given = CALLS[name], Inputs(robot)
    before = robot.world.state_hash()
    many = call(robot, given.q, given.dq, given.x)
    each = [call(robot, *one) for one in zip(given.q, given.dq, given.x, strict=True)]
    np.testing.assert_array_equal(many, np.stack(each))
    lists = [one.tolist() for one in (given.q[1], given.dq[1], given.x[1])]
    np.testing.assert_array_equal(call(robot, *lists), each[1])
    if 'derivatives' not in name:
        out = np.full_like(many, np.nan)
        assert call(robot, given.q, given.dq, given.x, out=out) is out
        np.testing.assert_array_equal(out, many)
        wide = np.zeros((COUNT, *np.shape(each[0]), 2))[..., 0]
        call(robot, given.q, given.dq, given.x, out=wide)
        np.testing.assert_array_equal(wide, many)
        if np.ndim(each[0]):
            out = np.full_like(each[2], np.nan)
            assert call(robot, given.q[2], given.dq[2], given.x[2], out=out) is out
            np.testing.assert_array_equal(out, each[2])
        with pytest.raises(sb.InvalidValueError, match='out = .*writable array of float64'):
            call(robot, given.q, given.dq, given.x, out=np.zeros((1, 1, 1, 1)))
    assert call(robot, given.q[:0], given.dq[:0], given.x[:0]).shape == (0, *np.shape(each[0]))
    assert robot.world.state_hash() == before


def test_one_row_serves_for_all(robot):
    """Take one velocity for many configurations, and current values for missing arguments."""
    given = Inputs(robot)
    one = dynamics.bias_forces(robot, given.q, given.dq[0])
    each = [dynamics.bias_forces(robot, q, given.dq[0]) for q in given.q]
    np.testing.assert_array_equal(one, each)
    dynamics.set_configuration(robot, given.q[1], given.dq[1])
    present = dynamics.configuration(robot), dynamics.velocity(robot)
    np.testing.assert_array_equal(
        dynamics.bias_forces(robot), dynamics.bias_forces(robot, *present)
    )
    np.testing.assert_array_equal(
        dynamics.bias_forces(robot, q=present[0]), dynamics.bias_forces(robot, dq=present[1])
    )
    np.testing.assert_array_equal(
        dynamics.inverse_dynamics(robot, given.x),
        [dynamics.inverse_dynamics(robot, x) for x in given.x],
    )


def test_result_may_replace_an_input(robot):
    """Write into the effort array itself."""
    given = Inputs(robot)
    expected = dynamics.forward_dynamics(robot, given.x, given.q, given.dq)
    dynamics.forward_dynamics(robot, given.x, given.q, given.dq, out=given.x)
    np.testing.assert_array_equal(given.x, expected)


def test_derivatives_are_those_of_the_functions(robot):
    """Match central differences of forward dynamics along the Lie group."""
    given, step = Inputs(robot), 1e-5
    q, dq, u = given.q[0], given.dq[0], given.x[0]
    ours = dynamics.forward_dynamics_derivatives(robot, u, q, dq)
    out = np.zeros((3, len(dq), len(dq)))
    same = dynamics.forward_dynamics_derivatives(robot, u, q, dq, out=out)
    for one, other, block in zip(ours, same, out, strict=True):
        np.testing.assert_array_equal(one, other)
        assert np.shares_memory(other, block)
    for k, unit in enumerate(step * np.eye(len(dq))):
        sides = [
            [
                dynamics.forward_dynamics(robot, u, dynamics.integrate(robot, sign * unit, q), dq),
                dynamics.forward_dynamics(robot, u, q, dq + sign * unit),
                dynamics.forward_dynamics(robot, u + sign * unit, q, dq),
            ]
            for sign in (-1.0, 1.0)
        ]
        expected = np.subtract(*sides[::-1]) / (2.0 * step)
        for one, column in zip(ours, expected, strict=True):
            np.testing.assert_allclose(one[:, k], column, atol=1e-5 * max(1.0, np.abs(one).max()))


def test_configurations_form_a_lie_group(robot):
    """Integrate whole and half differences between configurations; differentiate both."""
    given = Inputs(robot)
    for q, q2 in zip(given.q, given.q[1:], strict=False):
        v = dynamics.difference(robot, q, q2)
        end = dynamics.integrate(robot, v, q)
        np.testing.assert_allclose(dynamics.difference(robot, end, q2), 0.0 * v, atol=1e-13)
        middle = dynamics.interpolate(robot, q, q2, 0.5)
        np.testing.assert_allclose(dynamics.difference(robot, q, middle), 0.5 * v, atol=1e-13)
        ways = dynamics.interpolate(robot, q, q2, [0.0, 0.5, 1.0])
        np.testing.assert_allclose(ways[1:], [middle, end], atol=1e-15)
        for scale in (1.0, 1e-4):
            v_small, step = scale * v, 1e-6
            by_q, by_dq = dynamics.integration_derivatives(robot, v_small)
            here = dynamics.integrate(robot, v_small, q)
            for k, unit in enumerate(step * np.eye(len(v))):
                moved = dynamics.integrate(robot, v_small, dynamics.integrate(robot, unit, q))
                np.testing.assert_allclose(
                    dynamics.difference(robot, here, moved) / step, by_q[:, k], atol=1e-5
                )
                moved = dynamics.integrate(robot, v_small + unit, q)
                np.testing.assert_allclose(
                    dynamics.difference(robot, here, moved) / step, by_dq[:, k], atol=1e-5
                )


def test_quaternion_lengths_do_not_matter():
    """Normalize the quaternions at both ends, short and long."""
    given = Inputs(_BODY)
    q, q2 = given.q[0].copy(), given.q[1].copy()
    before = dynamics.difference(_BODY, q, q2)
    q[3:7] *= 2e-6
    q2[3:7] *= 1e49
    np.testing.assert_allclose(dynamics.difference(_BODY, q, q2), before, rtol=1e-13)
    np.testing.assert_allclose(dynamics.integrate(_BODY, 0.0 * before, q2), given.q[1], rtol=1e-13)


def test_integration_is_that_of_pinocchio():
    """Match Pinocchio's integrate and difference for a free base, with a body-frame tangent."""
    robot = sb.World().load_urdf(path_of('quadruped'), collisions='none')
    model = pin.buildModelFromUrdf(str(path_of('quadruped')), pin.JointModelFreeFlyer())
    given = Inputs(robot)
    turn = given.dq[:, 3:6]
    for q, w in zip(given.q, turn, strict=True):
        R = pin.Quaternion(q[3:7]).toRotationMatrix()
        v = np.zeros(model.nv)
        v[3:6] = R.T @ w
        theirs = pin.integrate(model, np.concatenate([q[:7], np.zeros(model.nq - 7)]), v)[3:7]
        ours = dynamics.integrate(
            robot, np.concatenate([np.zeros(3), w, np.zeros(len(given.dq[0]) - 6)]), q
        )[3:7]
        np.testing.assert_allclose(ours * np.sign(ours @ theirs), theirs, atol=1e-14)


def test_world_stacks_the_coordinates_of_its_robots():
    """Take and return the robots' coordinates one after another; set all or none."""
    world = sb.World()
    robots = [
        world.load_urdf(path_of(name), name=name, collisions='none')
        for name in ('quadruped', 'arm')
    ]
    q, q2 = dynamics.random_configuration(world, 3, 2)
    np.testing.assert_array_equal(
        dynamics.random_configuration(world, 3), dynamics.random_configuration(world, 3, 1)[0]
    )
    v = dynamics.difference(world, q, q2)
    each = [
        dynamics.difference(robots[0], q[:19], q2[:19]),
        dynamics.difference(robots[1], q[19:], q2[19:]),
    ]
    np.testing.assert_array_equal(v, np.concatenate(each))
    out = np.zeros_like(q)
    assert dynamics.integrate(world, v, q, out=out) is out
    np.testing.assert_array_equal(out[19:], dynamics.integrate(robots[1], v[18:], q[19:]))
    by_q, by_dq = dynamics.integration_derivatives(world, v)
    np.testing.assert_array_equal(
        by_dq[:18, :18], dynamics.integration_derivatives(robots[0], v[:18]).dq
    )
    assert not by_q[:18, 18:].any()
    dynamics.set_configuration(world, q, v)
    np.testing.assert_allclose(dynamics.configuration(world), q, atol=1e-15)
    np.testing.assert_array_equal(robots[1].dq, v[18:])
    np.testing.assert_allclose(robots[0].root_link.p, q[:3], atol=1e-15)
    before = world.state_hash()
    with pytest.raises(sb.InvalidValueError, match='expected 18 finite numbers'):
        dynamics.set_configuration(world, q2, np.full_like(v, np.nan))
    assert world.state_hash() == before
    assert len(dynamics.configuration(sb.World())) == 0


def test_random_configurations_obey_limits_and_mimic_joints():
    """Draw between the limits, follow mimic joints, and repeat with the seed."""
    robot = sb.World().load_urdf(FINGERS)
    rows = dynamics.random_configuration(robot, 5, 200)
    np.testing.assert_array_equal(
        rows, dynamics.random_configuration(robot, np.random.default_rng(5), 200)
    )
    start = robot.blueprint.first_q
    for k, name in enumerate(robot.joint_names):
        joint, values = robot.joint(name), rows[:, start + k]
        if joint.mimic is None:
            assert (values >= max(robot.lower[k], -4.0)).all()
            assert (values <= min(robot.upper[k], 4.0)).all()
            assert np.ptp(values) > 0.0
        else:
            followed = rows[:, start + robot.joint_names.index(joint.mimic.joint)]
            np.testing.assert_allclose(
                values, joint.mimic.multiplier * followed + joint.mimic.offset
            )


def test_kinematic_base_is_not_accelerated():
    """Accelerate the joints on a base with prescribed rotation, by the remaining efforts."""
    world = sb.World()
    robot = world.load_urdf(path_of('quadruped'), position=(0.0, 0.0, 1.0), collisions='none')
    robot.motion = 'kinematic'
    given = Inputs(robot)
    q, dq, u = given.q[0], given.dq[0], given.x[0]
    ddq = dynamics.forward_dynamics(robot, u, q, dq)
    assert not ddq[:6].any()
    np.testing.assert_allclose(dynamics.inverse_dynamics(robot, ddq, q, dq)[6:], u[6:], atol=1e-10)
    inverse = dynamics.inverse_mass_matrix(robot, q)
    assert not inverse[:6].any() and not inverse[:, :6].any()
    np.testing.assert_allclose(
        inverse[6:, 6:] @ dynamics.mass_matrix(robot, q)[6:, 6:], np.eye(len(u) - 6), atol=1e-9
    )
    ours = dynamics.forward_dynamics_derivatives(robot, u, q, dq)
    step = 1e-6 * np.eye(len(u))[4]
    sides = [
        dynamics.forward_dynamics(robot, u, dynamics.integrate(robot, sign * step, q), dq)
        for sign in (-1.0, 1.0)
    ]
    np.testing.assert_allclose(
        ours.q[:, 4], (sides[1] - sides[0]) / 2e-6, atol=1e-5 * np.abs(ours.q).max()
    )


_ARM = sb.World().load_urdf(path_of('arm'), collisions='none')
_BODY = sb.World().add_body(sb.Sphere(0.1), mass=1.0)
_ROW, _POSE = np.zeros(7), np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])


@pytest.mark.parametrize(
    ('call', 'message'),
    [
        (lambda: dynamics.mass_matrix('x'), "robot = 'x': expected a robot"),
        (lambda: dynamics.mass_matrix(_ARM, 'x'), r"q = 'x' \(robot 'arm'\): expected 7 finite"),
        (lambda: dynamics.mass_matrix(_ARM, [1, 2]), r'shape of q = \(2,\) .*\(7,\) or \(N, 7\)'),
        (lambda: dynamics.mass_matrix(_ARM, np.zeros((2, 2, 7))), r'shape of q = \(2, 2, 7\)'),
        (
            lambda: dynamics.bias_forces(_ARM, _ROW, _ROW * np.nan),
            r"dq\[0\] = nan \(robot 'arm'\)",
        ),
        (lambda: dynamics.bias_forces(_ARM, np.diag(_ROW + np.inf)), r'q\[0, 0\] = inf'),
        (lambda: dynamics.inverse_dynamics(_ARM, None), 'ddq = None .*7 finite numbers'),
        (lambda: dynamics.forward_dynamics(_ARM, _ROW > 0), 'u = array'),
        (
            lambda: dynamics.forward_dynamics(_ARM, np.zeros((3, 7)), np.zeros((2, 7))),
            "rows = '2 of q, 3 of u'",
        ),
        (lambda: dynamics.mass_matrix(_BODY, np.zeros(7)), r'q\[3:7\] = .*non-zero length'),
        (lambda: dynamics.mass_matrix(_BODY, np.full(7, 1e160)), r'q\[3:7\] = .*up to 1e50'),
        (lambda: dynamics.difference(_BODY, _POSE, 1e60 * _POSE), r'q2\[3:7\] = .*up to 1e50'),
        (lambda: dynamics.set_configuration(_ARM, None), r"q = None \(robot 'arm'\): expected 7"),
        (lambda: dynamics.mass_matrix(_ARM, out=np.broadcast_to(0.0, (7, 7))), 'out = .read-only'),
        (lambda: dynamics.mass_matrix(_ARM, out=[[1.0]]), r'out = \[\[1.0\]\]'),
        (lambda: dynamics.mass_matrix(_ARM, out=np.zeros((7, 7), np.float32)), 'out = .float32'),
        (lambda: dynamics.jacobian(_ARM, 'tool0', (1, 2)), r"shape of point = \(2,\) .*'tool0'"),
        (lambda: dynamics.jacobian(_ARM, 'tool'), "'tool'.*tool0"),
        (lambda: dynamics.integrate('x', _ROW), "robot_or_world = 'x'"),
        (lambda: dynamics.interpolate(_ARM, _ROW, _ROW, 'x'), "share = 'x'"),
        (
            lambda: dynamics.interpolate(_ARM, np.zeros((3, 7)), _ROW, np.zeros(4)),
            "rows = '4 of share, 3 of q and q2'",
        ),
        (lambda: dynamics.random_configuration(_ARM, 1, -1), 'count = -1'),
        (lambda: dynamics.random_configuration(_ARM, 'x'), r"seed = 'x' \(robot 'arm'\)"),
        (lambda: dynamics.random_configuration(_ARM, -1), 'seed = -1'),
        (
            lambda: dynamics.set_configuration(_ARM, _ROW, _ROW[:3]),
            r"of dq = \(3,\) \(robot 'arm'\)",
        ),
        (lambda: dynamics.set_configuration(_ARM, np.zeros((2, 7))), 'expected 7 finite numbers'),
    ],
)
def test_wrong_inputs_are_named(call, message):
    """Name the wrong input, its place, and the expected value."""
    with pytest.raises(sb.SimBridgeError, match=message):
        call()


def test_energy_of_a_list_is_written_into_its_array(robot):
    """Return the given array, even if the inputs are converted."""
    q, energy = dynamics.configuration(robot), np.array(np.nan)
    assert dynamics.potential_energy(robot, q.tolist(), out=energy) is energy
    assert energy == dynamics.potential_energy(robot, q)


def test_errors_have_no_chained_causes():
    """Report the error without the previously tried conversion."""
    with pytest.raises(sb.InvalidValueError) as refused:
        dynamics.mass_matrix(_ARM, [1, 2])
    assert refused.value.__context__ is None


def test_another_thread_keeps_out():
    """Refuse to compute while another thread is in the world."""
    inside, leave = threading.Event(), threading.Event()
    simulation = _ARM.simulation

    def stay():
        inside.set()
        leave.wait()

    other = threading.Thread(target=simulation.thread_guard.run_alone, args=(stay,))
    other.start()
    inside.wait()
    try:
        for q in (None, np.zeros((2, 7))):
            with pytest.raises(sb.StateError, match='thread'):
                dynamics.mass_matrix(_ARM, q)
    finally:
        leave.set()
        other.join()
    dynamics.mass_matrix(_ARM, np.zeros((2, 7)))


def test_threads_get_their_own_results():
    """Return correct results to threads that query links, points and configurations together."""
    robot = sb.World().load_urdf(path_of('arm'), collisions='none')
    rows, rng = dynamics.random_configuration(robot, 4, 8), np.random.default_rng(4)
    points = rng.normal(size=(8, 3))
    expected = [
        [dynamics.jacobian(robot, link, point, q) for link in robot.links]
        for point, q in zip(points, rows, strict=True)
    ]
    wrong, interval = [], sys.getswitchinterval()

    def ask(number):
        point, q, mine = points[number], rows[number], expected[number]
        for _ in range(100):
            for link, right in zip(robot.links, mine, strict=True):
                if not np.array_equal(dynamics.jacobian(robot, link, point, q), right):
                    wrong.append(link)

    threads = [threading.Thread(target=ask, args=[number]) for number in range(8)]
    sys.setswitchinterval(1e-6)
    try:
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong


def test_many_points_are_one_call():
    """Return the Jacobians and their derivatives at many points on a link."""
    points = np.random.default_rng(4).normal(size=(5, 3))
    given = Inputs(_ARM)
    for call in (
        lambda *one: dynamics.jacobian(_ARM, 'tool0', *one[:2]),
        lambda *one: dynamics.jacobian_derivative(_ARM, 'tool0', *one),
    ):
        for q in (given.q, given.q[0]):
            each = [
                call(point, own, dq)
                for point, own, dq in zip(
                    points, np.broadcast_to(q, given.q.shape), given.dq, strict=True
                )
            ]
            np.testing.assert_array_equal(call(points, q, given.dq), each)


def test_calls_are_short():
    """Pass through only a few functions, at the current state and at another."""
    q, link = np.zeros(7), _ARM.links[-1]
    for work in (
        lambda: dynamics.mass_matrix(_ARM),
        lambda: dynamics.mass_matrix(_ARM, q),
        lambda: dynamics.inverse_dynamics(_ARM, q, q, q),
        lambda: dynamics.jacobian(_ARM, link),
    ):
        work()
        assert calls_of(work) <= 7
