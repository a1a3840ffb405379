"""Known parameters are found in noisy motion, within their errors; others are reported."""

from __future__ import annotations

import json

from identified import recorded, scale_mass, swings
import numpy as np
import pytest
from shipped import path_of

import sim_bridge as sb
from sim_bridge.identification.confidence import Estimate
from sim_bridge.identification.first_guess import first_guess, sizes_of, smooth
from sim_bridge.identification.parameters import Parameters, parse_what
from sim_bridge.identification.plant import Plant
from sim_bridge.identification.recording import Recording
from sim_bridge.identification.shooting import ANALYTIC, BATCH, Shooting
from sim_bridge.identification.windows import cut

NO_STOPS = (np.full(2, -np.inf), np.full(2, np.inf))


def pendulum(seed: int = 1, **truth: float) -> Recording:
    """Return motion of a pendulum whose parameters differ from its file."""
    robot = sb.World().load_urdf(path_of('pendulum'))
    for name, value in truth.items():
        setattr(robot.joint('pivot'), name, value)
    return recorded(robot, swings(robot, seed, 0.8), 6.0, seed=seed)


def two_links(**options: object) -> tuple[sb.Robot, Recording]:
    """Return a double pendulum whose parameters differ from its file, and its motion."""
    robot = sb.World().load_urdf(path_of('double_pendulum'))
    for number, name in enumerate(robot.joint_names):
        joint = robot.joint(name)
        joint.friction, joint.damping, joint.armature = 0.05 + 0.03 * number, 0.1, 0.02
    robot.q = [0.3, 0.4]
    return robot, recorded(robot, swings(robot, 4, 0.7), 6.0, seed=4, **options)


def assert_found(found: sb.Identification, truth: dict[str, float], most: float = 3.5) -> None:
    """Assert that values are identifiable, and within this many standard errors."""
    for name, value in truth.items():
        estimate = found.estimates[name]
        assert estimate.is_identifiable, name
        assert abs(estimate.value - value) < most * estimate.error, (name, estimate)


def test_the_old_name_of_is_identifiable_warns():
    """Give `is_identifiable` under its old name, with a warning."""
    estimate = Estimate('friction', 'N m', 0.0, 0.1, 0.01, 0.08, 0.12, True)
    with pytest.warns(DeprecationWarning, match='is now called is_identifiable'):
        assert estimate.is_told


def test_a_pendulum_is_found_within_its_errors():
    """Find friction, damping and armature; explain the motion up to the noise."""
    truth = {'friction': 0.03, 'damping': 0.08, 'armature': 0.02}
    found = sb.identify('pendulum', pendulum(**truth))
    assert_found(found, {f'pivot.{name}': value for name, value in truth.items()})
    assert all(each.error < 0.02 * each.value for each in found.estimates.values())
    assert found.is_converged
    assert found.is_explained
    assert 0.9 < found.after.ratio < 1.1 < 20.0 < found.before.ratio
    assert found.held_out is not None
    assert 0.9 < found.held_out.ratio < 1.1
    assert 'explains the motion' in found.verdict
    json.dumps(found.as_plain())


def test_without_noise_parameters_are_exact():
    """Find the true parameters to eight digits."""
    robot, motion = two_links(noise=(0.0, 0.0))
    found = sb.identify('double_pendulum', motion, folds=0)
    for name in robot.joint_names:
        for kind in ('friction', 'damping', 'armature'):
            assert np.isclose(
                found.estimates[f'{name}.{kind}'].value,
                getattr(robot.joint(name), kind),
                rtol=1e-8,
                atol=1e-12,
            )


def test_masses_and_centres_are_found():
    """Find a load missing in the file: its mass and its place."""
    robot, link = sb.World().load_urdf(path_of('double_pendulum')), 'lower_rod'
    scale_mass(robot, link, 1.5 * robot.link(link).m)
    robot.link(link).c = robot.link(link).c + np.array([0.02, 0.0, -0.03])
    robot.q = [0.3, 0.4]
    found = sb.identify(
        'double_pendulum',
        recorded(robot, swings(robot, 5, 0.7), 6.0, seed=5),
        f'mass:{link},centre:{link}',
        folds=0,
    )
    assert_found(
        found,
        {
            f'{link}.mass': robot.link(link).m,
            f'{link}.centre.x': robot.link(link).c[0],
            f'{link}.centre.z': robot.link(link).c[2],
        },
    )
    # nothing rotates along the joint axes
    assert not found.estimates[f'{link}.centre.y'].is_identifiable
    assert found.estimates[f'{link}.centre.y'].value == pytest.approx(0.0, abs=1e-3)


def test_unidentifiable_parameters_are_named_with_identifiable_sums():
    """Identify neither a link's axial inertia nor its rotor, but their sum."""
    robot = sb.World(gravity=(0.0, 0.0, 0.0)).load_urdf(path_of('pendulum'))
    robot.joint('pivot').armature = 0.05
    motion = recorded(robot, swings(robot, 6, 0.8), 5.0, seed=6)
    found = sb.identify('pendulum', motion, 'armature,mass', gravity=(0.0, 0.0, 0.0), folds=0)
    assert not any(each.is_identifiable for each in found.estimates.values())
    (combination,) = found.combinations
    factors = {name: factor for factor, name in combination.terms}
    about = 0.0833436 + 1.0 * 0.5**2  # inertia of the 1 kg rod about the pivot
    ratio = factors['rod.mass'] / factors['pivot.armature']
    # linear near 1 kg, the mass in the file, where the fit stays
    assert ratio == pytest.approx(about, rel=0.01)
    mass, armature = found.estimates['rod.mass'].value, found.estimates['pivot.armature'].value
    assert about * mass + armature == pytest.approx(about + 0.05, rel=1e-3)
    assert 'rod.mass' in str(combination)
    assert 'pivot.armature' in str(combination)


def test_a_wrong_model_is_detected():
    """Report an unfitted force, from held-out windows."""
    found = sb.identify('pendulum', pendulum(friction=0.3, damping=0.05), 'damping')
    assert not found.is_explained
    assert found.held_out.ratio > 3.0
    assert 'does not explain' in found.verdict
    assert 'pivot' in found.verdict
    # the residuals increase the error as required
    damping = found.estimates['pivot.damping']
    assert damping.error > 1e-3


def test_the_delay_of_efforts_is_found():
    """Find the delay between recorded and acting efforts."""
    motion = pendulum(damping=0.1)
    late = Recording(
        'late',
        motion.joint_names,
        motion.times,
        motion.positions,
        motion.velocities,
        motion.effort_times - 0.012,
        motion.efforts,
    )
    found = sb.identify('pendulum', late, 'damping,delay', folds=0)
    assert_found(found, {'delay': 0.012, 'pivot.damping': 0.1})
    assert found.estimates['delay'].error < 1e-3


def test_positions_alone_suffice():
    """Find the same without measured velocities, with larger errors."""
    truth = {'friction': 0.03, 'damping': 0.08, 'armature': 0.02}
    motion = pendulum(**truth)
    alone = Recording(
        'alone',
        motion.joint_names,
        motion.times,
        motion.positions,
        None,
        motion.effort_times,
        motion.efforts,
    )
    found = sb.identify('pendulum', alone, folds=0)
    assert_found(found, {f'pivot.{name}': value for name, value in truth.items()})


@pytest.mark.long
def test_outliers_count_little_with_a_robust_loss():
    """Find damping although a hand pushed."""
    motion = pendulum(damping=0.1)
    pushed = motion.positions.copy()
    pushed[::97] += 0.05
    broken = Recording(
        'pushed',
        motion.joint_names,
        motion.times,
        pushed,
        motion.velocities,
        motion.effort_times,
        motion.efforts,
    )
    plain = sb.identify('pendulum', broken, 'damping', folds=0)
    robust = sb.identify('pendulum', broken, 'damping', folds=0, loss='cauchy')
    errors = [abs(each.estimates['pivot.damping'].value - 0.1) for each in (plain, robust)]
    assert errors[1] < 1e-3
    assert errors[1] <= errors[0]


@pytest.mark.parametrize('seed', [0, pytest.param(1, marks=pytest.mark.long)])
def test_bodies_stay_possible_with_any_data(seed):
    """Keep masses positive and inertias possible with random data."""
    draw = np.random.default_rng(seed)
    times = 0.005 * np.arange(90)
    motion = Recording(
        'nonsense',
        ('shoulder', 'elbow'),
        times,
        np.cumsum(draw.normal(scale=0.02, size=(90, 2)), axis=0),
        None,
        times,
        draw.normal(scale=50.0, size=(90, 2)),
    )
    found = sb.identify('double_pendulum', motion, 'mass,centre,inertia', folds=0, window=0.1)
    for link in found.parameters.links:
        body = found.parameters.body(link, found.z)
        principal = np.linalg.eigvalsh(body.inertia)
        assert body.mass > 0.0
        assert principal[0] > 0.0
        assert principal[2] <= principal[0] + principal[1]
    robot = sb.World().load_urdf(found.urdf())
    assert all(np.isfinite(robot.link(link).m) for link in found.parameters.links)


def test_analytic_derivatives_are_those_of_batches():
    """Agree with finite differences when friction slides, sticks and lets go."""
    _, motion = two_links(noise=(0.0, 0.0))
    plant = Plant('double_pendulum')
    for name in plant.joint_names:
        plant.robot.joint(name).friction = 0.05
    smoothed = smooth([motion])
    parameters = Parameters(
        plant,
        parse_what('friction,damping,armature,mass,centre,inertia,delay', plant),
        sizes_of(plant, smoothed),
    )
    windows = cut([motion], 1e-3, NO_STOPS, 0.2)
    some = np.arange(0, windows.count, 4)
    z = np.full(parameters.count, 0.02)  # at a limit, differences are one-sided
    found = [
        Shooting(plant, windows, parameters, kind).motion(z, windows.start[some], some)
        for kind in (ANALYTIC, BATCH)
    ]
    assert np.array_equal(found[0].values, found[1].values)
    for ours, theirs in zip(found[0][1:], found[1][1:], strict=True):
        # differences blur the steps in which a joint reverses
        error = np.median(np.abs(ours - theirs), axis=(0, 1))
        assert (error < 1e-3 * (1e-3 + np.abs(theirs).max(axis=(0, 1)))).all()


def test_differences_of_batches_find_the_same():
    """Find the same with finite differences as with derivatives."""
    motion = pendulum(friction=0.03, damping=0.08)
    found = [
        sb.identify('pendulum', motion, 'friction,damping', folds=0, gradients=each)
        for each in (ANALYTIC, BATCH)
    ]
    for name, estimate in found[0].estimates.items():
        assert abs(found[1].estimates[name].value - estimate.value) < 0.6 * estimate.error
        assert found[1].estimates[name].error == pytest.approx(estimate.error, rel=0.3)


def test_the_first_guess_needs_no_simulation():
    """Be within a few percent by inverse dynamics alone."""
    plant, motion = Plant('pendulum'), pendulum(friction=0.1, damping=0.2, armature=0.05)
    smoothed = smooth([motion])
    parameters = Parameters(
        plant, parse_what('friction,damping,armature', plant), sizes_of(plant, smoothed)
    )
    guess = parameters.values(first_guess(plant, smoothed, parameters))
    assert np.allclose(guess, [0.1, 0.2, 0.05], rtol=0.05)


def test_gaps_and_stops_are_in_no_window():
    """Exclude gaps in the recording, ceased commands, and impacts."""
    motion = pendulum(damping=0.1)
    kept = (motion.times < 2.0) | (motion.times > 2.5)
    commanded = (motion.effort_times < 4.0) | (motion.effort_times > 4.3)
    broken = Recording(
        'broken',
        motion.joint_names,
        motion.times[kept],
        motion.positions[kept],
        motion.velocities[kept],
        motion.effort_times[commanded],
        motion.efforts[commanded],
    )
    top = float(np.quantile(motion.positions, 0.98))
    stops = (np.array([-np.inf]), np.array([top]))
    windows = cut([broken], 1e-3, stops, 0.25)
    at_stop = motion.times[motion.positions[:, 0] >= top]
    for begin in windows.begin:
        end = begin + windows.length
        assert end <= 2.0 or begin >= 2.5
        assert end <= 4.01 or begin >= 4.3
        assert not ((at_stop > begin) & (at_stop < end)).any()
    assert windows.left_out > 0.5


@pytest.mark.parametrize(
    ('what', 'error', 'text'),
    [
        ('frction', sb.UnknownNameError, "unknown kind of parameter 'frction'.*'friction'"),
        ('', sb.InvalidValueError, 'kinds of parameters'),
        ('damping:pivt', sb.UnknownNameError, "unknown joint 'pivt'.*'pivot'"),
        ('mass:rodd', sb.UnknownNameError, "unknown link 'rodd'.*'rod'"),
        ('mass:world', sb.InvalidValueError, "link.*'world'.*has mass and moves: rod"),
        ('delay:pivot', sb.InvalidValueError, 'one for all joints'),
    ],
)
def test_wrong_kinds_are_named(what, error, text):
    """Name the likely kind, and the known ones."""
    with pytest.raises(error, match=text):
        sb.identify('pendulum', pendulum(), what)


@pytest.mark.parametrize('names', [None, 'pivot', ('pivot', 3), 5])
def test_joint_names_of_recordings_are_checked(names):
    """Refuse names that are no series of texts."""
    times = np.arange(3.0)
    with pytest.raises(sb.InvalidValueError, match='joint_names = .*expected joint names'):
        Recording('r', names, times, np.zeros((3, 1)), None, times, np.zeros((3, 1)))


def test_recordings_that_do_not_fit_are_refused():
    """Name missing joints, missing motion, and too long windows."""
    motion = pendulum()
    other = Recording(
        'other',
        ('knee',),
        motion.times,
        motion.positions,
        None,
        motion.effort_times,
        motion.efforts,
    )
    with pytest.raises(sb.InvalidValueError, match='knee.*those of the robot: pivot'):
        sb.identify('pendulum', other)
    draw = np.random.default_rng(0)
    still = Recording(
        'still',
        ('pivot',),
        motion.times,
        1e-4 * draw.normal(size=motion.positions.shape),
        None,
        motion.effort_times,
        0.0 * motion.efforts,
    )
    with pytest.raises(sb.InvalidValueError, match='cannot be identified without motion'):
        sb.identify('pendulum', still)
    with pytest.raises(sb.InvalidValueError, match='without a gap.*takes 5.998 s'):
        sb.identify('pendulum', motion, window=20.0)
    with pytest.raises(sb.InvalidValueError, match='at least one'):
        sb.identify('pendulum', [])
    with pytest.raises(sb.InvalidValueError, match=r'bad.*rising order'):
        Recording(
            'bad',
            ('pivot',),
            motion.times[::-1],
            motion.positions,
            None,
            motion.effort_times,
            motion.efforts,
        )
    with pytest.raises(sb.InvalidValueError, match='3000 x 1 finite numbers'):
        Recording(
            'bad',
            ('pivot',),
            motion.times,
            motion.positions[:-1],
            None,
            motion.effort_times,
            motion.efforts,
        )


@pytest.mark.parametrize(
    ('robot', 'text'), [('delta', 'joints that close loops'), ('floating_box', 'without joints')]
)
def test_robots_without_inverse_dynamics_are_refused(robot, text):
    """Name the unsupported feature."""
    with pytest.raises(sb.InvalidValueError, match=text):
        sb.identify(robot, pendulum())


@pytest.mark.long
def test_an_arm_is_found_within_its_errors():
    """Find 26 parameters of seven joints, and one sum whose terms are inseparable."""
    robot = sb.World().load_urdf(path_of('arm'), collisions='none')
    for number, name in enumerate(robot.joint_names):
        joint = robot.joint(name)
        joint.friction, joint.damping = 0.2 + 0.05 * number, 0.3 + 0.04 * number
        joint.armature = 0.02 + 0.01 * number
    scale_mass(robot, 'link_4', 2.9)
    scale_mass(robot, 'tool_flange', 1.2)
    found = sb.identify(
        'arm',
        recorded(robot, swings(robot, 0, 0.45), 12.0),
        'friction,damping,armature,mass',
        folds=2,
    )
    assert_found(
        found,
        {
            f'{name}.{kind}': getattr(robot.joint(name), kind)
            for name in robot.joint_names
            for kind in ('friction', 'damping')
        },
        4.0,
    )
    assert_found(
        found,
        {f'{name}.armature': robot.joint(name).armature for name in robot.joint_names[1:]},
        4.0,
    )
    assert_found(
        found,
        {
            f'{name}.mass': robot.link(name).m
            for name in ('link_2', 'link_3', 'link_4', 'link_5', 'link_6', 'tool_flange')
        },
        4.0,
    )
    assert {name for name, each in found.estimates.items() if not each.is_identifiable} == {
        'joint_1.armature',
        'link_1.mass',
    }
    (combination,) = found.combinations
    assert {name for _, name in combination.terms} == {'joint_1.armature', 'link_1.mass'}
    assert 0.95 < found.held_out.ratio < 1.05
