"""Every joint type of `add_joint`, in a tree and as rows, against closed forms and against ODE."""

from __future__ import annotations

import math

from linkages import body, G, imbalance, largest_error, turn, X, Y, Z
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from benchmarks.mechanism import Motion
from benchmarks.peers import libode, ode
import sim_bridge as sb

# skew axes for the joint, the body and its inertia
TILT = turn((1.0, 2.0, 3.0), 0.7)
ANCHOR, ORIGIN = np.array([0.25, 0.15, 0.1]), np.array([0.3, 0.1, -0.2])
MASS, COM, INERTIA = 2.0, np.array([0.05, -0.1, -0.2]), np.array([0.02, 0.03, 0.04])
# initial rates of the joint's coordinates
RATES = {
    'ball': (0.4, -0.3, 2.5),
    'hinge': 2.0,
    'slider': 0.5,
    'universal': (1.5, -1.0),
    'hinge2': (1.5, -1.0),
    'fixed': None,
    'piston': (0.5, 2.0),
    'planar': (0.3, -0.4, 2.0),
}


def hung(kind, time_step=1e-3, tree=True, **parts):
    """Hang a moving body askew on a world joint; return the world, the body, the joint."""
    motion = {}
    if not tree and RATES.get(kind) is not None:
        # rows begin with the same motion as the tree's coordinates
        link = hung(kind)[1].root_link
        motion = {'linear_velocity': link.v, 'angular_velocity': link.w}
    if kind in ('universal', 'hinge2'):
        parts['axis2'] = TILT @ Y
    world = sb.World(time_step=time_step)
    one = body(world, ORIGIN, TILT, MASS, INERTIA, center_of_mass=COM, **motion)
    joint = world.add_joint(kind, None, one, ANCHOR, TILT @ X, tree=tree, **parts)
    if tree and RATES[kind] is not None:
        joint.dq = RATES[kind]
    return world, one, joint


def place(one):
    """Return a body's centre of mass and orientation in one vector."""
    link = one.root_link
    return np.concatenate([link.wc, link.R.ravel()])


def greatest(difference):
    """Return the greatest entry."""
    return float(np.abs(difference).max())


@pytest.mark.parametrize('kind', [kind for kind in RATES if kind not in ('fixed', 'slider')])
def test_trees_and_rows_tend_to_one_motion(kind):
    """Differ by a quarter at half the step, over 5 s; rows hold to rounding."""
    apart = []
    for time_step in (1e-3, 5e-4):
        places = []
        for tree in (True, False):
            world, one, joint = hung(kind, time_step, tree)
            assert joint.is_tree == tree
            assert largest_error(world, round(0.25 / time_step), 20) < 1e-12
            np.testing.assert_array_less(imbalance(world), 1e-9)
            places.append(place(one))
        apart.append(greatest(places[0] - places[1]))
    assert apart[1] < 1e-6
    assert 3.8 < apart[0] / apart[1] < 4.2


@pytest.mark.parametrize('kind', ['fixed', 'slider'])
def test_trees_and_rows_agree_without_rotation(kind):
    """Differ only by rounding, including rounding in the summed displacement."""
    places = []
    for tree in (True, False):
        world, one, _ = hung(kind, tree=tree)
        assert largest_error(world, 250, 20) < 1e-12
        places.append(place(one))
    assert greatest(places[0] - places[1]) < 1e-10


# --- closed forms --------------------------------------------------------------------------------


def errors_of(kind, tree, exact, duration, steps=(1e-3, 5e-4)):
    """Return the body's distance from its exact place at the end, for each step."""
    found = []
    for time_step in steps:
        world, one, _ = hung(kind, time_step, tree)
        start = place(one), one.root_link.v, one.root_link.w
        world.step(round(duration / time_step))
        found.append(greatest(place(one) - exact(*start, duration)))
    return found


def about_a_point(start, v, w, duration):
    """Return a body's place while turning freely about ANCHOR, by Euler's equations."""
    rotation = start[3:].reshape(3, 3)
    arm = rotation.T @ (start[:3] - ANCHOR)
    inertia = np.diag(INERTIA) + MASS * (arm @ arm * np.eye(3) - np.outer(arm, arm))

    def rates(_, y):
        turned, spin = y[:9].reshape(3, 3), y[9:]
        torque = np.cross(arm, turned.T @ (0.0, 0.0, -MASS * G))
        change = np.linalg.solve(inertia, torque - np.cross(spin, inertia @ spin))
        return np.concatenate([np.cross(turned, spin).ravel(), change])

    begin = np.concatenate([start[3:], rotation.T @ w])
    # row by row: (R [w]) is R's rows each crossed with w
    end = solve_ivp(rates, (0.0, duration), begin, method='DOP853', rtol=1e-12, atol=1e-12).y[
        :, -1
    ]
    return np.concatenate([ANCHOR + end[:9].reshape(3, 3) @ arm, end[:9]])


def about_the_axis(start, v, w, duration):
    """Return a body's place while swinging about the axis through ANCHOR."""
    axis, rotation = TILT @ X, start[3:].reshape(3, 3)
    arm = start[:3] - ANCHOR
    across = arm - (arm @ axis) * axis
    about = axis @ rotation @ np.diag(INERTIA) @ rotation.T @ axis + MASS * (across @ across)

    def rates(_, y):
        torque = np.cross(turn(axis, y[0]) @ arm, (0.0, 0.0, -MASS * G)) @ axis
        return [y[1], torque / about]

    angle = solve_ivp(
        rates, (0.0, duration), [0.0, axis @ w], method='DOP853', rtol=1e-12, atol=1e-12
    ).y[0, -1]
    turned = turn(axis, angle)
    return np.concatenate([ANCHOR + turned @ arm, (turned @ rotation).ravel()])


def along_the_axis(start, v, w, duration):
    """Return a body's place while sliding down the axis."""
    axis = TILT @ X
    way = axis @ v * duration - 0.5 * G * axis[2] * duration**2
    return np.concatenate([start[:3] + way * axis, start[3:]])


def along_and_about(start, v, w, duration):
    """Return a body's place while sliding and swinging, independently."""
    turned = about_the_axis(start, v, w, duration)
    turned[:3] += along_the_axis(start, v, w, duration)[:3] - start[:3]
    return turned


def in_the_plane(start, v, w, duration):
    """Return a body's place while falling in a plane and turning."""
    normal, rotation = TILT @ X, start[3:].reshape(3, 3)
    v_com = v + np.cross(w, rotation @ COM)
    down = np.array([0.0, 0.0, -G])
    down -= (down @ normal) * normal
    turned = turn(normal, normal @ w * duration) @ rotation
    return np.concatenate(
        [start[:3] + v_com * duration + 0.5 * down * duration**2, turned.ravel()]
    )


@pytest.mark.parametrize('tree', [True, False])
@pytest.mark.parametrize(
    ('kind', 'exact'),
    [
        ('ball', about_a_point),
        ('hinge', about_the_axis),
        ('piston', along_and_about),
        ('planar', in_the_plane),
    ],
)
def test_motion_is_of_second_order(kind, exact, tree):
    """Shrink the error against the equations of motion to a quarter with half the step."""
    coarse, fine = errors_of(kind, tree, exact, 5.0)
    assert fine < 2e-6
    assert 3.8 < coarse / fine < 4.2


@pytest.mark.parametrize('tree', [True, False])
@pytest.mark.parametrize(
    ('kind', 'exact'), [('slider', along_the_axis), ('fixed', lambda start, *_: start)]
)
def test_motion_without_rotation_is_exact(kind, exact, tree):
    """Slide along the parabola, without turning."""
    (error,) = errors_of(kind, tree, exact, 5.0, (1e-3,))
    assert error < 1e-10


def spherical_pendulum(across, along, torque, angle, rates, duration):
    """
    Return azimuth and angle from below for a hanging body without spin.

    across, along: inertia about the suspension point. torque: m g l. Azimuth begins at 0.
    """

    def about(angle):
        return across * math.sin(angle) ** 2 + along * math.cos(angle) ** 2

    momentum = about(angle) * rates[0]

    def change(_, y):
        azimuthal = momentum / about(y[1])
        turning = (across - along) * math.sin(y[1]) * math.cos(y[1]) * azimuthal**2
        return [azimuthal, y[2], (turning - torque * math.sin(y[1])) / across]

    begin = [0.0, angle, rates[1]]
    return solve_ivp(change, (0.0, duration), begin, method='DOP853', rtol=1e-12, atol=1e-12).y[
        :2, -1
    ]


def below(length, azimuth, angle):
    """Return the end of a rod hanging at the origin."""
    return length * np.array(
        [
            -math.sin(azimuth) * math.sin(angle),
            math.cos(azimuth) * math.sin(angle),
            -math.cos(angle),
        ]
    )


def cross_error(kind, tree, time_step):
    """Hang an upright rod on a universal joint for 5 s; return its error against the equations."""
    length, angle, rates, inertia = 0.3, 1.1, (7.0, 0.5), np.array([0.02, 0.02, 0.01])
    world = sb.World(time_step=time_step)
    one = body(
        world,
        below(length, 0.0, angle),
        turn(X, angle),
        MASS,
        inertia,
        linear_velocity=length
        * np.array(
            [-rates[0] * math.sin(angle), rates[1] * math.cos(angle), rates[1] * math.sin(angle)]
        ),
        angular_velocity=(rates[1], 0.0, rates[0]),
    )
    joint = world.add_joint(kind, None, one, np.zeros(3), Z, X, tree=tree)
    np.testing.assert_allclose(joint.dq, rates, atol=1e-12)
    assert largest_error(world, round(0.25 / time_step), 20) < 1e-12
    expected = spherical_pendulum(
        inertia[0] + MASS * length**2, inertia[2], MASS * G * length, angle, rates, 5.0
    )
    np.testing.assert_allclose(joint.q, expected - [0.0, angle], atol=1e-4)
    return greatest(one.root_link.wc - below(length, *expected))


@pytest.mark.parametrize('tree', [True, False])
@pytest.mark.parametrize('kind', ['universal', 'hinge2'])
def test_crosses_are_of_second_order(kind, tree):
    """Turn about a vertical axis and swing about a level one, by Lagrange's equations."""
    coarse, fine = (cross_error(kind, tree, time_step) for time_step in (1e-3, 5e-4))
    assert fine < 1e-5
    assert 3.8 < coarse / fine < 4.2


def distance_error(time_step):
    """Tie a ball's centre to the origin and let it circle for 5 s, as `cross_error`."""
    length, angle, rates = 0.5, 1.1, (3.0, 0.5)
    world = sb.World(time_step=time_step)
    one = body(
        world,
        below(length, 0.0, angle),
        None,
        MASS,
        (0.01, 0.01, 0.01),
        linear_velocity=length
        * np.array(
            [-rates[0] * math.sin(angle), rates[1] * math.cos(angle), rates[1] * math.sin(angle)]
        ),
        angular_velocity=(1.0, 2.0, 3.0),
    )
    world.add_joint('distance', None, one, np.zeros(3), anchor2=one.root_link.p)
    assert largest_error(world, round(0.25 / time_step), 20) < 1e-12
    np.testing.assert_allclose(one.root_link.w, (1.0, 2.0, 3.0), atol=1e-12)
    expected = spherical_pendulum(MASS * length**2, 0.0, MASS * G * length, angle, rates, 5.0)
    return greatest(one.root_link.p - below(length, *expected))


def test_distance_is_of_second_order():
    """Keep a point on a sphere, like a spherical pendulum, without affecting its rotation."""
    coarse, fine = distance_error(1e-3), distance_error(5e-4)
    assert fine < 2e-6
    assert 3.8 < coarse / fine < 4.2


@pytest.mark.parametrize('bend', [0.3, 1.0])
def test_hooke_joint_between_two_shafts(bend):
    """Turn the driven shaft by tan q2 = tan q1 / cos(bend), at the matching speed."""
    world = sb.World()
    along = np.array([math.cos(bend), math.sin(bend), 0.0])
    first = body(world, -0.2 * X)
    second = body(world, 0.2 * along, turn(Z, bend))
    shafts = [
        world.add_joint('hinge', None, one, one.root_link.p, axis)
        for one, axis in ((first, X), (second, along))
    ]
    cross = world.add_joint('universal', first, second, np.zeros(3), Y, Z)
    assert [shaft.is_tree for shaft in shafts] == [True, True]
    assert not cross.is_tree
    shafts[0].dq = 6.0
    shafts[0].control, shafts[0].target_velocity = 'velocity', 6.0
    shafts[1].damping = 0.01
    for _ in range(50):
        world.step(100)
        turned = [shaft.q for shaft in shafts]
        assert math.cos(bend) * math.sin(turned[1]) * math.cos(turned[0]) == pytest.approx(
            math.sin(turned[0]) * math.cos(turned[1]), abs=1e-12
        )
        ratio = math.cos(bend) / (1.0 - (math.sin(bend) * math.cos(turned[0])) ** 2)
        assert shafts[1].dq == pytest.approx(6.0 * ratio, rel=1e-4)
        assert max(cross.error) < 1e-12
        np.testing.assert_array_less(imbalance(world), 1e-9)
    assert turned[0] == pytest.approx(30.0, abs=1e-2)
    assert abs(turned[1] - 30.0) < 0.7


# --- ODE -----------------------------------------------------------------------------------------


def ode_error(kind, time_step, duration):
    """Return the final distance between ODE's body and ours, on a joint of the same type."""
    _, one, _ = hung(kind)
    link = one.root_link
    world = libode.world_create()
    libode.set_gravity(world, 0.0, 0.0, -G)
    libode.set_cfm(world, 0.0)
    # a hinge-2 takes two bodies; the first one is held
    base, moved = (
        ode.add_body(world, MASS, np.diag(INERTIA), finite_rotation=True) for _ in range(2)
    )
    ode.place(
        [base, moved],
        Motion(
            com=np.array([ANCHOR, link.wc]),
            rotation=np.array([np.eye(3), link.R]),
            velocity=np.array([np.zeros(3), link.v + np.cross(link.w, link.wc - link.p)]),
            angular=np.array([np.zeros(3), link.w]),
        ),
    )
    name = kind.capitalize()
    joint, holder = (
        libode.create_joint[name](world, None),
        libode.create_joint['Fixed'](world, None),
    )
    libode.attach(holder, base, None)
    libode.set_fixed(holder)
    libode.attach(joint, base, moved)
    if kind != 'slider':
        libode.place_joint[f'{name}Anchor'](joint, *ANCHOR)
    axes = (
        {'Axis1': TILT @ X, 'Axis2': TILT @ Y}
        if kind in ('universal', 'hinge2')
        else {}
        if kind == 'ball'
        else {'Axis': TILT @ X}
    )
    for which, axis in axes.items():
        libode.place_joint[f'{name}{which}'](joint, *axis)
    for _ in range(round(duration / time_step)):
        libode.world_step(world, time_step)
    motion = ode.read_motion([moved])
    libode.world_destroy(world)
    ours = hung(kind, 5e-4)
    ours[0].step(round(duration / 5e-4))
    return greatest(np.concatenate([motion.com[0], motion.rotation[0].ravel()]) - place(ours[1]))


@pytest.mark.parametrize('kind', [kind for kind in RATES if kind not in ('fixed', 'planar')])
def test_ode_tends_to_our_motion(kind):
    """Halve ODE's distance from our motion with half the step, because ODE is first order."""
    coarse, fine = (ode_error(kind, time_step, 5.0) for time_step in (4e-4, 2e-4))
    assert fine < 5e-3
    assert 1.8 < coarse / fine < 2.2
