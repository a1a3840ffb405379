"""Constraint joints with a spring and a damper in each direction."""

from __future__ import annotations

import copy
import itertools
import math
import pickle

from contact_worlds import push
from linkages import body, INERTIA
import numpy as np
import pytest
import robots

import sim_bridge as sb
from sim_bridge.foundation.errors import InvalidValueError

M = 2.0
STIFFNESS = (1e3, 2e3, 3e3, 10.0, 20.0, 30.0)
DAMPING = (5.0, 0.0, 80.0, 0.05, 0.0, 0.8)


def held(kind='fixed', time_step=1e-3, gravity=(0.0, 0.0, 0.0), **options):
    """Hold a body at rest to the world by a joint at its centre of mass."""
    world = sb.World(time_step=time_step, gravity=gravity)
    one = body(world, mass=M)
    return world, one.root_link, world.add_joint(kind, None, one, tree=False, **options)


def oscillated(k, c, inertia, rate, t):
    """Return the closed form of a damped oscillator that starts at 0 with a rate."""
    decay = c / (2.0 * inertia)
    square = k / inertia - decay * decay
    if square > 0.0:
        return rate / math.sqrt(square) * math.exp(-decay * t) * math.sin(math.sqrt(square) * t)
    root = math.sqrt(-square)
    return rate / root * math.exp(-decay * t) * math.sinh(root * t)


@pytest.mark.parametrize('way', range(6))
def test_each_direction_is_a_damped_oscillator_of_its_own(way):
    """Converge to the closed form with the first order of ODE's ERP and CFM."""
    errors = []
    for time_step in (2e-4, 1e-4):
        world, link, _ = held(
            time_step=time_step, normal=(1.0, 0.0, 0.0), compliance=(STIFFNESS, DAMPING)
        )
        # small rotations only, since the rows are sines
        motion = np.zeros(6)
        motion[way] = 0.1 if way < 3 else 1e-3
        link.robot.set_base_velocity(motion[:3], motion[3:])
        world.step(round(0.08 / time_step))
        turned = link.R - link.R.T
        reached = [*link.p, 0.5 * turned[2, 1], 0.5 * turned[0, 2], 0.5 * turned[1, 0]]
        exact = oscillated(
            STIFFNESS[way], DAMPING[way], (M, M, M, *INERTIA)[way], motion[way], 0.08
        )
        errors.append(abs(reached[way] / exact - 1.0))
        assert np.abs(np.delete(reached, way)).max() < 1e-12
    assert errors[0] < 0.02
    assert 1.8 < errors[0] / errors[1] < 2.2


@pytest.mark.parametrize('turned', [False, True])
def test_static_deflection_is_the_force_over_the_stiffness(turned):
    """Yield by F / k along the joint's axes, at any orientation, and by T / k about them."""
    frame = np.eye(3)
    if turned:
        frame = np.linalg.qr(np.random.default_rng(2).normal(size=(3, 3)))[0]
        frame[:, 1] = np.cross(frame[:, 2], frame[:, 0])
    world, link, joint = held(
        axis=frame[:, 2], normal=frame[:, 0], compliance=(STIFFNESS, (200.0,) * 3 + (2.0,) * 3)
    )
    force, torque = np.array([1.0, -2.0, 3.0]), np.array([1.0, 2.0, -3.0]) * 1e-4
    push(world, link, frame @ force, 3000, torque=frame @ torque)
    np.testing.assert_allclose(frame.T @ link.p, force / STIFFNESS[:3], atol=1e-9)
    turn = frame.T @ (link.R - link.R.T) @ frame
    np.testing.assert_allclose(
        0.5 * np.array([turn[2, 1], turn[0, 2], turn[1, 0]]), torque / STIFFNESS[3:], atol=1e-9
    )
    np.testing.assert_allclose(joint.reaction[0], -frame @ force, atol=1e-9)


ROWS = {
    'ball': (0, 1, 2),
    'hinge': (0, 1, 2, 4, 3),
    'slider': (0, 1, 4, 3, 5),
    'universal': (0, 1, 2, 4),
    'hinge2': (0, 1, 2, 4),
    'fixed': (0, 1, 2, 4, 3, 5),
    'piston': (0, 1, 4, 3),
    'planar': (2, 4, 3),
    'distance': (0,),
}


@pytest.mark.parametrize('kind', ROWS)
def test_rows_are_as_the_documents_say(kind):
    """Give each row its direction's spring, by ODE's formula, and read it back."""
    options = {'anchor2': (0.0, 0.0, 1.0)} if kind == 'distance' else {}
    if kind in ('universal', 'hinge2'):
        options['axis2'] = (1.0, 0.0, 0.0)
    world, _, joint = held(kind, compliance=(STIFFNESS, DAMPING), **options)
    k, c = (np.array(values)[list(ROWS[kind])] for values in (STIFFNESS, DAMPING))
    h = world.time_step
    np.testing.assert_allclose(joint.erp, h * k / (h * k + c), rtol=1e-14)
    np.testing.assert_allclose(joint.cfm, 1.0 / (h * k + c), rtol=1e-14)
    expected = np.zeros((2, 6))
    expected[:, list(ROWS[kind])] = k, c
    np.testing.assert_allclose(joint.compliance, expected, rtol=1e-12)


@pytest.mark.parametrize('kind', ['ball', 'hinge', 'slider', 'fixed', 'piston', 'planar'])
@pytest.mark.parametrize('way', range(6))
def test_a_row_resists_its_direction_and_no_other(kind, way):
    """Push along or about each axis: only constrained directions answer, each by its stiffness."""
    world, link, _ = held(kind, normal=(1.0, 0.0, 0.0), compliance=(STIFFNESS, 0.0))
    push = np.zeros(6)
    push[way] = 1.0 if way < 3 else 1e-3
    link.add_force(push[:3])
    link.add_torque(push[3:])
    world.step()
    # implicit: (m + h² k) v = h F
    inertia, h = (M, M, M, *INERTIA)[way], world.time_step
    k = STIFFNESS[way] if way in ROWS[kind] else 0.0
    assert [*link.v, *link.w][way] == pytest.approx(
        h * push[way] / (inertia + h * h * k), rel=1e-9
    )


def test_some_directions_are_rigid():
    """Hold to rounding at infinite stiffness, and yield in the other directions."""
    stiffness = (math.inf, 1e3, math.inf, 10.0, math.inf, math.inf)
    world, link, joint = held(
        normal=(1.0, 0.0, 0.0), gravity=(3.0, -4.0, -9.0), compliance=(stiffness, 60.0)
    )
    assert joint.compliance.stiffness == pytest.approx(stiffness)
    world.step(40)
    assert abs(link.p[1]) > 1e-3
    assert np.abs(link.p[[0, 2]]).max() < 1e-12
    world.step(4000)
    assert link.p[1] == pytest.approx(-4.0 * M / 1e3, abs=1e-6)
    np.testing.assert_allclose(joint.reaction[0], -M * np.array([3.0, -4.0, -9.0]), atol=1e-3)


def test_crossed_axes_at_any_angle_have_the_stiffness_about_the_line_across_them():
    """Yield about y like any other joint, though the row is a cosine of 60 degrees."""
    for axis2 in ((1.0, 0.0, 0.0), (math.sqrt(0.75), 0.0, 0.5)):
        world, link, _ = held('hinge2', axis2=axis2, compliance=(STIFFNESS, 1.0))
        push(world, link, (0.0, 0.0, 0.0), 3000, torque=(0.0, 1e-3, 0.0))
        assert 0.5 * (link.R - link.R.T)[0, 2] == pytest.approx(1e-3 / STIFFNESS[4], rel=1e-4)


def swung(**options):
    """Swing a body on a compliant hinge; return its final pose."""
    world, link, joint = held('hinge', gravity=(1.0, 2.0, -9.0), **options)
    world.step(100)
    return world, joint, [*link.p, *link.R.ravel()]


def test_numbers_for_all_rows_and_for_each_are_the_same_bits():
    """Accept one ERP and CFM, or five of each."""
    _, _, one = swung(erp=0.4, cfm=1e-4)
    _, joint, each = swung(erp=(0.4,) * 5, cfm=[1e-4] * 5)
    assert one == each
    np.testing.assert_array_equal(joint.erp, [0.4] * 5)
    joint.erp = 0.1
    assert joint.erp == 0.1


def test_snapshots_copies_and_pickles_know_it():
    """Reach the same end, bit by bit, by every way of copying a world."""
    world, joint, _ = swung(compliance=(STIFFNESS, DAMPING))
    kept, before = world.save(), world.state_hash()
    twins = [copy.deepcopy(world), pickle.loads(pickle.dumps(world))]
    joint.compliance = sb.Compliance((1e4,) * 6)
    assert world.state_hash() != before
    world.step(10)
    world.restore(kept)
    for each in (world, *twins):
        assert each.state_hash() == before
        each.step(100)
    assert len({each.state_hash() for each in (world, *twins)}) == 1


@pytest.mark.parametrize(
    ('given', 'named'),
    [
        ({'compliance': 5.0}, 'compliance'),
        ({'compliance': ((1.0, 2.0), 0.0)}, 'stiffness'),
        ({'compliance': (-1.0, 0.0)}, 'stiffness'),
        ({'compliance': (math.nan, 0.0)}, 'stiffness'),
        ({'compliance': (1e3, math.inf)}, 'damping'),
        ({'compliance': (0.0, 0.0)}, 'along x'),
        ({'compliance': (1.0, 1.0), 'cfm': 1e-3}, 'None beside'),
        ({'cfm': (1e-3,) * 4}, '5 rows'),
        ({'erp': (0.1, 0.2, 0.3, 0.4, 1.5)}, 'erp'),
        ({'normal': (0.0, 0.0, 2.0)}, 'along axis'),
    ],
)
def test_wrong_values_are_refused(given, named):
    """Name the value, and add nothing."""
    world = sb.World()
    one = body(world, mass=M)
    with pytest.raises(InvalidValueError, match=named):
        world.add_joint('hinge', None, one, tree=False, **given)
    assert not world.joints
    joint = world.add_joint('hinge', None, one, tree=False)
    before = world.state_hash()
    if 'compliance' in given and len(given) == 1:
        with pytest.raises(InvalidValueError, match=named):
            joint.compliance = given['compliance']
    assert world.state_hash() == before


def loaded(element, **options):
    """Load a pendulum whose bar is held to the world by a joint in another element."""
    text = robots.robot(
        robots.link('base'),
        robots.link('bar'),
        robots.joint('swing', 'base', 'bar', kind='floating'),
        element,
    )
    return sb.World(gravity=(0.0, 0.0, 0.0)).load_urdf(text, **options)


SPRINGS, DAMPERS = '1e3 2e3 inf 10 20 30', '1 2 0 .1 .2 .3'


@pytest.mark.parametrize(
    ('axis', 'columns'), list(zip(('1 0 0', '0 0 1'), ([1, 2, 0], [0, 1, 2]), strict=True))
)
def test_files_set_the_compliance(axis, columns):
    """Read URDF and YAML alike: z of the compliance is the axis, x link1's across it."""
    frame = 'rpy="0 0 1.5707963267948966"'
    urdf = (
        f'<sim_bridge><joint name="l" type="hinge"><link1 name="bar" {frame}/>'
        f'<link2 name="base"/><axis xyz="{axis}"/><compliance stiffness="{SPRINGS}" '
        f'damping="{DAMPERS}"/></joint></sim_bridge>'
    )
    numbers = [[float(word) for word in text.split()] for text in (SPRINGS, DAMPERS)]
    entry = {
        'name': 'l',
        'type': 'hinge',
        'link1': 'bar',
        'link2': 'base',
        'rpy1': [0, 0, math.pi / 2],
        'axis': [float(word) for word in axis.split()],
        'compliance': {'stiffness': numbers[0], 'damping': numbers[1]},
    }
    quarter = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    for robot in (loaded(urdf), loaded('', extra_joints={'joints': [entry]})):
        joint = robot.joint('l')
        np.testing.assert_allclose(joint.rotation, quarter[:, columns], atol=1e-12)
        # a hinge is free about z
        np.testing.assert_allclose(
            joint.compliance, [[*row[:5], 0.0] for row in numbers], rtol=1e-12
        )


def test_an_undamped_spring_of_each_step_is_the_same_spring():
    """Keep the static deflection when the time step changes: k is physical."""
    reached = []
    for time_step, c in itertools.product((1e-3, 2.5e-4), (50.0, 100.0)):
        world, link, _ = held(time_step=time_step, compliance=(2e3, c))
        push(world, link, (1.0, 0.0, 0.0), round(1.5 / time_step))
        reached.append(link.p[0])
    np.testing.assert_allclose(reached, 1.0 / 2e3, atol=1e-9)
