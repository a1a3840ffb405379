"""Benchmarks compare like with like: every engine computes the same motion."""

from __future__ import annotations

from dataclasses import replace
import json
import re
import sys

import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp

from benchmarks import __main__ as command
from benchmarks import cold_start, dynamics, step
from benchmarks import energy as energy_benchmark
from benchmarks.chains import box, chain, double_pendulum, real_robot, REAL_ROBOTS
from benchmarks.energy import anymal_energy_error, box_scenes, pendulum_scene
from benchmarks.mechanism import (
    angular_momentum,
    energy,
    motion_of,
    quaternion_from,
    random_state,
    rotation_about,
    rotation_from,
    zero_state,
)
from benchmarks.peers import build, ENTRIES, find_missing, MissingPeerError
from benchmarks.peers.pinocchio import build_model
from benchmarks.reference import double_pendulum_angles, free_body_attitude, free_body_spin
from benchmarks.report import format_table, Report, Target
from benchmarks.urdf import example_robot, read_urdf, write_urdf

GRAVITY = np.array([0.0, 0.0, -9.81])

# MuJoCo's RK4 is the reference for engines with a smaller time step; the twenty sweeps of
# dWorldQuickStep leave a separate error
CONVERGING = [name for name in ENTRIES if name not in ('MuJoCo RK4', 'ODE dWorldQuickStep')]


def moved(name, mechanism, state, duration, time_step, force=None):
    """Return the motion reached by an engine from `state` after `duration`."""
    peer = build(name, mechanism, time_step, GRAVITY)
    peer.reset(state)
    if force is not None:
        peer.push(force)
    peer.step(round(duration / time_step))
    return peer.motion()


def distance(a, b):
    """Return the largest difference between two motions, over all quantities."""
    return max(
        np.abs(getattr(a, field) - getattr(b, field)).max()
        for field in ('com', 'rotation', 'velocity', 'angular')
    )


def tumbling_quadruped():
    """Return ANYmal in the air, with all joints and the base moving."""
    mechanism = real_robot('anymal_b')
    rng = np.random.default_rng(3)
    axis = np.array([2.0, -1.0, 2.0]) / 3.0
    state = random_state(mechanism, rng)
    return mechanism, replace(
        state,
        dq=rng.uniform(-1.0, 1.0, len(state.q)),
        position=np.array([0.3, -0.2, 2.0]),
        rotation=rotation_about(axis, 0.7),
        linear=np.array([0.5, -0.3, 1.0]),
        angular=np.array([0.4, -0.6, 0.8]),
    )


def prismatic_arm():
    """Return a moving Panda with sliding fingers."""
    mechanism = real_robot('panda')
    rng = np.random.default_rng(4)
    state = random_state(mechanism, rng)
    return mechanism, replace(state, dq=rng.uniform(-1.0, 1.0, len(state.q)))


def swinging_chain():
    """Return a moving chain with 5 links."""
    mechanism = chain(5)
    rng = np.random.default_rng(5)
    state = random_state(mechanism, rng, spread=0.5)
    return mechanism, replace(state, dq=rng.uniform(-1.0, 1.0, 5))


SCENES = {'chain': swinging_chain, 'panda': prismatic_arm, 'anymal': tumbling_quadruped}


@pytest.mark.parametrize('scene', SCENES)
@pytest.mark.parametrize('name', CONVERGING)
def test_engines_agree(name, scene):
    """Reach the motion of MuJoCo's RK4 after 50 ms, twice as closely at half the step."""
    mechanism, state = SCENES[scene]()
    truth = moved('MuJoCo RK4', mechanism, state, 0.05, 1e-4)
    far = distance(moved(name, mechanism, state, 0.05, 2e-4), truth)
    near = distance(moved(name, mechanism, state, 0.05, 1e-4), truth)
    assert near < 0.02
    assert near < 0.6 * far or near < 1e-7


@pytest.mark.parametrize('scene', SCENES)
def test_quick_step_stays_near(scene):
    """Keep ODE's iterative step within 0.1 of the motion of MuJoCo's RK4 after 50 ms."""
    mechanism, state = SCENES[scene]()
    truth = moved('MuJoCo RK4', mechanism, state, 0.05, 1e-4)
    assert distance(moved('ODE dWorldQuickStep', mechanism, state, 0.05, 1e-4), truth) < 0.1


@pytest.mark.parametrize('name', CONVERGING)
def test_push_is_the_same_force_for_all(name):
    """Push the trunk of a tumbling ANYmal: 50 ms later it has the same place in all engines."""
    mechanism, state = tumbling_quadruped()
    force = np.array([100.0, -50.0, 600.0])
    truth = moved('MuJoCo RK4', mechanism, state, 0.05, 1e-4, force)
    assert distance(moved(name, mechanism, state, 0.05, 1e-4, force), truth) < 0.02
    assert distance(moved(name, mechanism, state, 0.05, 1e-4), truth) > 0.5


@pytest.mark.parametrize('name', ENTRIES)
def test_reset_repeats_the_motion_exactly(name):
    """Compute the same bits after a reset, also with a force applied in between."""
    mechanism, state = tumbling_quadruped()
    peer = build(name, mechanism, 1e-3, GRAVITY)
    motions = []
    for _ in range(2):
        peer.reset(state)
        peer.step(20)
        motions.append(peer.motion())
        peer.push(np.array([0.0, 0.0, 10.0]))
        peer.step(5)
    assert distance(*motions) == 0.0


@pytest.mark.parametrize('name', ENTRIES)
def test_reset_reaches_the_engine_and_comes_back(name):
    """Read back the assigned motion before any step."""
    mechanism, state = tumbling_quadruped()
    peer = build(name, mechanism, 1e-3, GRAVITY)
    peer.reset(state)
    assert distance(peer.motion(), motion_of(mechanism, state)) < 1e-12


@pytest.mark.parametrize('name', REAL_ROBOTS)
def test_read_urdf_merges_fixed_links_as_pinocchio_does(name):
    """Match Pinocchio's mass, kinetic energy and centre of mass, read from the original file."""
    path, free_root = REAL_ROBOTS[name]
    root = [pin.JointModelFreeFlyer()] if free_root else []
    truth = pin.buildModelFromUrdf(str(example_robot(path)), *root)
    mechanism = real_robot(name)
    assert set(mechanism.joint_names) == set(truth.names) - {'universe', 'root_joint'}

    rng = np.random.default_rng(6)
    state = replace(random_state(mechanism, rng), dq=rng.normal(size=len(mechanism.joint_names)))
    q, v = pin.neutral(truth), np.zeros(truth.nv)
    for joint, position, rate in zip(mechanism.joint_names, state.q, state.dq, strict=True):
        model = truth.joints[truth.getJointId(joint)]
        q[model.idx_q] = position
        if model.nq == 2:  # Pinocchio keeps the cosine and sine of a continuous joint
            q[model.idx_q : model.idx_q + 2] = np.cos(position), np.sin(position)
        v[model.idx_v] = rate
    data = truth.createData()
    kinetic = pin.computeKineticEnergy(truth, data, q, v)
    potential = pin.computePotentialEnergy(truth, data, q)
    if not free_root:  # Pinocchio, like us, counts links fixed to the ground as ground
        assert pin.computeTotalMass(truth) == pytest.approx(mechanism.mass, rel=1e-12)
    assert energy(mechanism, motion_of(mechanism, state), GRAVITY) == pytest.approx(
        kinetic + potential, rel=1e-9, abs=1e-9
    )


@pytest.mark.parametrize(
    'make', [lambda: chain(6), box, double_pendulum, lambda: real_robot('talos')]
)
def test_write_urdf_keeps_everything(make, tmp_path):
    """Read back the written file: the same joints, places, axes and inertias."""
    mechanism = make()
    path = tmp_path / 'again.urdf'
    path.write_text(write_urdf(mechanism), encoding='utf-8')
    again = read_urdf(path, free_root=mechanism.is_free)
    assert again.joint_names == mechanism.joint_names
    for old, new in zip(mechanism.bodies, again.bodies, strict=True):
        assert (old.name, old.parent, old.joint) == (new.name, new.parent, new.joint)
        for field in ('position', 'rotation', 'axis', 'com', 'inertia', 'mass'):
            np.testing.assert_allclose(
                getattr(new, field),
                getattr(old, field),
                rtol=0,
                atol=1e-12,
                err_msg=f'{old.name} {field}',
            )


def test_angular_momentum_is_pinocchios():
    """Match Pinocchio's angular centroidal momentum."""
    mechanism, state = tumbling_quadruped()
    model = build_model(mechanism, GRAVITY)
    q, v = pin.neutral(model), np.zeros(model.nv)
    q[:7] = *state.position, *quaternion_from(state.rotation)
    v[:6] = *state.rotation.T @ state.linear, *state.rotation.T @ state.angular
    for name, position, rate in zip(mechanism.joint_names, state.q, state.dq, strict=True):
        joint = model.joints[model.getJointId(name)]
        q[joint.idx_q], v[joint.idx_v] = position, rate
    truth = pin.computeCentroidalMomentum(model, model.createData(), q, v)
    np.testing.assert_allclose(
        angular_momentum(mechanism, motion_of(mechanism, state)), truth.angular, rtol=1e-10
    )


def test_quaternions_undo_rotations():
    """Convert rotations to quaternions and back, also half turns."""
    rng = np.random.default_rng(7)
    for angle in [0.0, 1e-9, 1.0, np.pi, *rng.uniform(-np.pi, np.pi, 20)]:
        axis = rng.normal(size=3)
        rotation = rotation_about(axis / np.linalg.norm(axis), angle)
        np.testing.assert_allclose(rotation_from(quaternion_from(rotation)), rotation, atol=1e-14)


@pytest.mark.parametrize(
    'spin', [(0.1, 5.0, 0.1), (-3.0, 0.2, 0.5), (0.3, -0.2, 4.0), (-1.0, 2.0, -3.0)]
)
def test_closed_form_of_the_free_body_solves_eulers_equations(spin):
    """Match a numerical solution to nine digits, spinning about the long or short axis."""
    inertia, spin = np.diag(box().bodies[0].inertia), np.array(spin)
    times = np.linspace(0.0, 10.0, 501)

    def rates(_, y):
        w, rotation = y[:3], y[3:].reshape(3, 3)
        return np.r_[np.cross(inertia * w, w) / inertia, np.cross(rotation, w).ravel()]

    start = np.r_[spin, np.eye(3).ravel()]
    truth = solve_ivp(rates, (0.0, 10.0), start, 'DOP853', times, rtol=1e-13, atol=1e-14).y.T
    np.testing.assert_allclose(free_body_spin(inertia, spin, times), truth[:, :3], atol=1e-9)
    np.testing.assert_allclose(
        free_body_attitude(inertia, spin, times).reshape(-1, 9), truth[:, 3:], atol=1e-9
    )


def test_reference_of_the_double_pendulum_keeps_its_energy():
    """Conserve the energy from `mechanism.energy` over 10 s."""
    scene = pendulum_scene()
    motions = scene.reference(np.linspace(0.0, 10.0, 101))
    energies = [energy(scene.mechanism, motion, scene.gravity) for motion in motions]
    np.testing.assert_allclose(energies, energies[0], atol=1e-10)


def test_reference_of_the_double_pendulum_swings_at_its_normal_frequency():
    """Repeat a small swing in the slow normal mode after its closed-form period."""
    # thin rods of mass m and length l: w^2 = (3 -+ 6 / sqrt(7)) g / l, in the mode (1, r)
    # with r the ratio of absolute angles (Greenwood, Principles of Dynamics)
    omega = np.sqrt((3.0 - 6.0 / np.sqrt(7.0)) * 9.81)
    ratio = (3.0 * 9.81 / 2.0 - 4.0 / 3.0 * omega**2) / (0.5 * omega**2)
    small = 1e-4
    angles, _ = double_pendulum_angles(
        small * np.array([1.0, ratio - 1.0]),
        np.array([0.0, 2.0 * np.pi / omega]),
        mass=1.0,
        length=1.0,
        inertia=1.0 / 12.0,
        g=9.81,
    )
    np.testing.assert_allclose(angles[1], angles[0], atol=small * 1e-5)


def test_scenes_start_like_the_published_ones():
    """Match the energies and angular momenta of scpeters/benchmark for its boxes."""
    _, simple, thrown = box_scenes()
    for scene, total, spin in ((simple, 5.001041625, 0.404166), (thrown, 368.5464125, 3.41765)):
        motion = motion_of(scene.mechanism, scene.state)
        assert energy(scene.mechanism, motion, scene.gravity) == pytest.approx(total, rel=1e-6)
        assert np.linalg.norm(angular_momentum(scene.mechanism, motion)) == pytest.approx(
            spin, rel=1e-5
        )


def test_ode_reaches_its_published_figure_on_the_simple_box():
    """Rotate the slowly spinning box with the angular error published for ODE, 1.04e-7 rad."""
    _, scene, _ = box_scenes()
    peer = build('ODE dWorldStep', scene.mechanism, 1e-3, scene.gravity)
    peer.reset(scene.state)
    peer.step(10000)
    exact = rotation_about(np.array([1.0, 0.0, 0.0]), 0.5 * 10.0)
    error = np.linalg.norm(peer.motion().rotation[0] - exact) / np.sqrt(2.0)
    assert error == pytest.approx(1.04e-7, rel=0.01)


def test_mujoco_loses_the_published_energy_on_anymal():
    """Lose semi-implicit Euler's energy in free flight, as SimBenchmark found for MuJoCo."""
    mass = real_robot('anymal_b').mass
    ballistic = (0.5 * mass * 9.81**2 * 1e-3) ** 2 * 4.0 / 3.0
    assert anymal_energy_error('MuJoCo Euler') == pytest.approx(ballistic, rel=0.3)


def test_the_readme_names_every_benchmark(repository):
    """Show the names that `python -m benchmarks` takes."""
    text = (repository / 'benchmarks' / 'README.md').read_text()
    (block,) = re.findall(r'^```sh\n(.*?)^```', text, re.MULTILINE | re.DOTALL)
    names = {*command._BENCHMARKS, *command._ROS_BENCHMARKS}
    assert names <= set(re.findall(r'\w+', block))


def test_missing_engine_is_named_with_its_installation(monkeypatch):
    """Explain how to install an engine that cannot be imported."""
    monkeypatch.setitem(sys.modules, 'mujoco', None)
    monkeypatch.delitem(sys.modules, 'benchmarks.peers.mujoco', raising=False)
    missing = find_missing()
    assert missing['MuJoCo Euler'] == 'pip install mujoco'
    with pytest.raises(MissingPeerError, match='pip install mujoco'):
        build('MuJoCo RK4', box(), 1e-3, GRAVITY)


def test_targets_report_missing_measurements():
    """Distinguish met, missed and not measured."""
    assert Target('', 1.0, 1.0).verdict == 'met'
    assert Target('', 1.1, 1.0).verdict == 'MISSED'
    assert Target('', float('nan'), 1.0).verdict == 'not measured'
    assert Target('', 1.0, float('nan')).verdict == 'not measured'


def test_report_is_saved_as_text_and_data(tmp_path):
    """Write the tables and, beside them, valid JSON with the machine."""
    report = Report('demo', data={'value': 1.5})
    report.add_table('Title', ['a', 'b'], [['x', '1'], ['long', '23']])
    path = report.save(tmp_path)
    data = json.loads(path.read_text(encoding='utf-8'))
    assert data['value'] == 1.5
    assert 'processor' in data['machine']
    assert 'long  23' in (tmp_path / 'demo.txt').read_text(encoding='utf-8')


def test_tables_line_up():
    """Give all lines of a table one width, first column left and others right."""
    lines = format_table('T', ['name', 'n'], [['a', '1'], ['bb', '222']]).splitlines()
    assert lines[2:] == ['name    n', '---------', 'a       1', 'bb    222', '---------']


def test_zero_state_is_the_assembled_pose():
    """Stack a chain straight down at zero: centres of mass 0.2 m apart."""
    motion = motion_of(chain(3), zero_state(chain(3)))
    np.testing.assert_allclose(motion.com[:, 2], [-0.1, -0.3, -0.5], atol=1e-15)


def test_step_benchmark_fills_its_tables():
    """Time every installed engine on every row, and judge only measured values."""
    report = step.run(rounds=1, lengths=(2, 3))
    here = {name for name in step.ENGINES if name not in find_missing()}
    rows = [*report.data['chains'].values(), *report.data['robots'].values()]
    assert len(rows) == 2 + len(REAL_ROBOTS)
    for row in rows:
        assert set(row) == here | {step.OURS_PER_CALL}
        assert all(seconds > 0.0 for seconds in row.values())
    verdicts = [target['verdict'] for target in report.data['targets']]
    assert verdicts[:3] == ['not measured'] * 3  # 7 and 128 links were left out
    json.dumps(report.data, allow_nan=False)


def test_dynamics_benchmark_fills_its_tables():
    """Time both libraries on every row, one call and many, and judge them."""
    report = dynamics.run(rounds=1)
    tables = report.data['times']
    assert [len(rows) for rows in tables.values()] == [16, 5, 16, 5]
    for rows in tables.values():
        for row in rows.values():
            assert {dynamics.OURS, dynamics.THEIRS} <= set(row)
            assert all(seconds > 0.0 for seconds in row.values())
    assert len(report.data['targets']) == 21
    json.dumps(report.data, allow_nan=False)


def test_energy_benchmark_fills_its_tables():
    """Run every installed engine through every scene, with small errors for the short time."""
    report = energy_benchmark.run(duration_scale=0.02)
    here = {name for name in energy_benchmark.ENGINES if name not in find_missing()}
    for rows in report.data['scenes'].values():
        assert set(rows) == here
        for row in rows.values():
            assert row['energy'] < 0.2
            assert row['position'] < 2e-3
            assert row['angle'] < 2e-2
    assert set(report.data['anymal']) == here


def test_cold_start_times_its_stages():
    """Report times that grow from stage to stage."""
    times = list(cold_start.start().values())
    assert len(times) == 4
    assert times == sorted(times)
