"""Batches of worlds: the same bits as single worlds, with any differences between them."""

from __future__ import annotations

import copy
import os
import pickle
import re

from everything import friction, SCENE
import numpy as np
import pytest
from shipped import path_of
import yaml

import sim_bridge as sb


def arm(**options):
    """Return a world with the arm and its noisy sensors."""
    world = sb.World(**options)
    world.load_urdf(path_of('arm'))
    return world


def scene(**options):
    """Return a small scene with everything that can act in a world."""
    world = sb.World(**options)
    world.load_scene({'world': yaml.safe_load(SCENE)['world']})
    return world


def quadruped(**options):
    """Return the quadruped, limp, above the ground."""
    world = sb.World(**options)
    world.add_ground()
    world.load_urdf(path_of('quadruped')).set_base_pose((0.0, 0.0, 0.5))
    return world


def pile(count=12, **options):
    """Return boxes falling onto each other: many more contacts than at the start."""
    world = sb.World(**options)
    world.add_ground()
    for number in range(count):
        world.add_body(
            sb.Box((0.2, 0.2, 0.1)),
            mass=1.0,
            position=(0.02 * (number % 3), 0.0, 0.06 + 0.11 * number),
        )
    return world


def closed():
    """Return a robot with kinematic loops."""
    world = sb.World()
    world.load_urdf(path_of('delta'))
    return world


def assert_same(batch, worlds):
    """Assert equal states, bit by bit."""
    assert [batch.world(k).state_hash() for k in range(batch.n)] == [
        world.state_hash() for world in worlds
    ]


def vary_arm(world, draw):
    """Slightly change all parameters of joints and links."""
    robot = world.robots['arm']
    robot.q = draw.uniform(-0.5, 0.5, 7)
    robot.joint('joint_2').damping = draw.uniform(0.0, 1.0)
    robot.joint('joint_3').friction = draw.uniform(0.0, 0.3)
    robot.link('link_4').m = draw.uniform(1.0, 3.0)
    world.gravity = (0.0, 0.0, draw.uniform(-10.0, -9.0))


def vary_quadruped(world, draw):
    """Change contact geometries and their poses."""
    robot = world.robots['quadruped']
    robot.set_base_pose((0.0, 0.0, draw.uniform(0.4, 0.6)))
    world.set_contact_material(
        'default',
        'default',
        sb.ContactMaterial(friction=draw.uniform(0.3, 1.0), restitution=draw.uniform(0.0, 0.5)),
    )


def vary_scene(world, draw):
    """Slightly change many parts."""
    world.robots['pack'].link(0).m = draw.uniform(1.0, 5.0)
    world.robots['drop'].set_base_pose((1.05, -2.0, draw.uniform(0.6, 1.0)))
    world.robots['foam'].geometries[0].position = (0.0, 0.0, draw.uniform(0.0, 0.05))
    world.joint('closer').kp = draw.uniform(1.0, 5.0)
    world.set_force_field('wind', sb.Drag(linear=draw.uniform(0.1, 0.5), wind=(1.0, 0.0, 0.0)))


@pytest.mark.parametrize('threads', [1, 3])
@pytest.mark.parametrize(
    ('make', 'vary', 'steps'),
    [
        (arm, None, 300),
        (arm, vary_arm, 300),
        (quadruped, vary_quadruped, 400),
        (scene, None, 60),
        (pile, None, 400),
        (closed, None, 50),
        (lambda: quadruped(solver='iterative'), vary_quadruped, 300),
        (lambda: quadruped(solver='split', sleep=True), vary_quadruped, 300),
        (lambda: arm(integrator='rk5'), vary_arm, 100),
        (lambda: quadruped(integrator='momentum'), vary_quadruped, 300),
    ],
    ids=[
        'arm',
        'arm varied',
        'quadruped',
        'everything',
        'pile',
        'loops',
        'iterative',
        'split',
        'rk5',
        'momentum',
    ],
)
def test_worlds_have_the_bits_of_single_ones(make, vary, steps, threads):
    """Step worlds together, and each as a world alone, in portions of other sizes."""
    world = make()
    batch = sb.Batch(world, 4, seed=7, vary=vary, threads=threads)
    worlds = [batch.world(k) for k in range(4)]
    assert_same(batch, worlds)
    for part in (1, steps // 2, steps - steps // 2 - 1):
        batch.step(part)
        for each in worlds:
            each.step(part)
    assert_same(batch, worlds)
    assert batch.step_count.tolist() == [steps] * 4
    for k, each in enumerate(worlds):
        for name, robot in each.robots.items():
            for device in robot.devices():
                seen = batch.robots[name].devices[device.name]
                for quantity in seen.quantities:
                    assert np.array_equal(seen[quantity][k], device[quantity], equal_nan=True)
                    assert np.array_equal(
                        seen.truth(quantity)[k], device.truth[quantity], equal_nan=True
                    )
            for link in robot.links:
                seen = batch.robots[name].links[link.name]
                for of in ('p', 'R', 'v', 'w', 'dv', 'dw'):
                    assert np.array_equal(getattr(seen, of)[k], getattr(link, of))
        count = int(batch.contacts.count[k])
        assert count == each.contact_count
        assert np.array_equal(batch.contacts.forces[k, :count], each.contacts.forces)
        assert np.array_equal(batch.contacts.indices[k, :count], each.contacts.indices)


def test_worlds_differ_by_their_draws_and_by_their_noise():
    """Draw different numbers in each world, equal ones for equal seeds."""
    batch = sb.Batch(arm(), 3, seed=1, vary=vary_arm)
    again = sb.Batch(arm(), 5, seed=1, vary=vary_arm)
    other = sb.Batch(arm(), 3, seed=2, vary=vary_arm)
    q = batch.robots['arm'].q
    assert np.array_equal(q, again.robots['arm'].q[:3])
    assert len({*q[:, 0].tolist(), *other.robots['arm'].q[:, 0].tolist()}) == 6
    for each in (batch, again):
        each.step(5)
    force = batch.robots['arm'].devices['wrist_ft']['force']
    assert np.array_equal(force, again.robots['arm'].devices['wrist_ft']['force'][:3])
    assert len(set(force[:, 0].tolist())) == 3


def test_varied_scenes_have_the_bits_of_single_ones():
    """Change parts of all kinds in the full scene."""
    batch = sb.Batch(scene(), 3, seed=4, vary=vary_scene)
    worlds = [batch.world(k) for k in range(3)]
    assert len({world.state_hash() for world in worlds}) == 3
    batch.step(40)
    for each in worlds:
        each.step(40)
    assert_same(batch, worlds)


def test_a_world_can_be_made_by_copy_alone():
    """Build world k by a copy with its seed and its generator, without a batch."""
    world = arm()
    batch = sb.Batch(world, 2, seed=9, vary=vary_arm)
    alone = world.copy(seed=batch.seeds[1])
    vary_arm(alone, np.random.default_rng(np.random.SeedSequence(9, spawn_key=(1,))))
    batch.step(50)
    alone.step(50)
    assert batch.world(1).state_hash() == alone.state_hash()


def test_arrays_are_views_to_read_and_write():
    """Write to state arrays, and let commands act from the next step on."""
    batch = sb.Batch(arm(), 3)
    worlds = [batch.world(k) for k in range(3)]
    robot = batch.robots['arm']
    robot.u = 0.5
    robot.u[1] = -0.5
    robot.q[2, 0] = 0.3
    robot.dq = np.linspace(0.0, 1.0, 21).reshape(3, 7)
    for k, each in enumerate(worlds):
        own = each.robots['arm']
        own.u = -0.5 if k == 1 else 0.5
        own.dq = robot.dq[k]
    worlds[2].robots['arm'].q[0] = 0.3
    batch.step(20)
    for each in worlds:
        each.step(20)
    assert_same(batch, worlds)


def test_targets_and_bases_are_views():
    """Give servos separate targets, and bases separate start poses."""
    world = arm(gravity=(0.0, 0.0, 0.0))
    for name in world.robots['arm'].joint_names:
        joint = world.robots['arm'].joint(name)
        joint.control, joint.kp, joint.kd, joint.friction = 'servo', 200.0, 40.0, 0.0
    batch = sb.Batch(world, 2)
    batch.robots['arm'].target_position[1] = 0.2
    batch.step(4000)
    q = batch.robots['arm'].q
    assert np.abs(q[0]).max() < 1e-3 and np.abs(q[1] - 0.2).max() < 1e-3

    free = sb.Batch(quadruped(), 2)
    base = free.robots['quadruped']
    base.base_position = [(0.0, 0.0, 2.0), (1.0, 0.0, 3.0)]
    base.base_linear_velocity = (1.0, 0.0, 0.0)
    free.step(100)
    # free fall: half the acceleration times the time squared
    fallen = 0.5 * 9.80665 * 0.1**2
    for k, height in enumerate((2.0, 3.0)):
        root = free.world(k).robots['quadruped'].root_link
        assert np.array_equal(base.base_position[k], root.p)
        assert base.base_position[k, 0] == pytest.approx(k + 0.1, abs=2e-3)
        assert base.base_position[k, 2] == pytest.approx(height - fallen, abs=2e-3)
    with pytest.raises(sb.InvalidValueError, match='a free or kinematic base'):
        _ = batch.robots['arm'].base_position


def test_some_are_stepped_and_some_begin_again():
    """Choose worlds by a mask; repeat the same bits after a reset."""
    batch = sb.Batch(scene(), 3, seed=5)
    first = np.array([True, False, True])
    batch.step(30, first)
    assert batch.step_count.tolist() == [30, 0, 30]
    hashes = [batch.world(k).state_hash() for k in range(3)]
    batch.reset(~first)
    batch.step(30, ~first)
    batch.reset(np.array([True, False, False]))
    assert batch.time.tolist() == [0.0, 0.03, 0.03]
    batch.step(30, np.array([True, False, False]))
    assert [batch.world(k).state_hash() for k in (0, 2)] == [hashes[0], hashes[2]]
    alone = sb.Batch(scene(), 3, seed=5)
    alone.step(30)
    assert [alone.world(k).state_hash() for k in range(3)] == [
        batch.world(k).state_hash() for k in range(3)
    ]


def test_a_failed_world_is_reported_and_harms_no_other():
    """Keep the last valid state, finish the other worlds, and continue after a reset."""
    batch = sb.Batch(arm(), 4)
    worlds = [batch.world(k) for k in range(4)]
    batch.step(5)
    batch.robots['arm'].q[2, 1] = np.nan
    with pytest.raises(sb.SimulationError, match=r'1 world .* not finite: 2 \(step 6\)'):
        batch.step(10)
    assert batch.failed.tolist() == [False, False, True, False]
    batch.step(5)
    assert batch.step_count.tolist() == [20, 20, 5, 20]
    for each in worlds:
        each.step(20)
    assert [batch.world(k).state_hash() for k in (0, 1, 3)] == [
        worlds[k].state_hash() for k in (0, 1, 3)
    ]
    batch.reset(batch.failed)
    batch.step(20, np.arange(4) == 2)
    assert_same(batch, worlds)
    silent = sb.Batch(arm(), 2, raises=False)
    silent.robots['arm'].q[0] = np.nan
    silent.step(3)
    assert silent.failed.tolist() == [True, False] and silent.step_count.tolist() == [0, 3]


def test_invalid_batches_are_rejected():
    """Name the error and the remedy."""
    world = arm()
    world.before_step(lambda world: None)
    with pytest.raises(sb.InvalidValueError, match='before_step.*without Python functions'):
        sb.Batch(world, 2)
    ground = quadruped()
    ground.set_contact_material('default', 'default', sb.ContactMaterial(friction_model=friction))
    with pytest.raises(sb.InvalidValueError, match="friction of 'default' on 'default'"):
        sb.Batch(ground, 2)
    with pytest.raises(sb.InvalidValueError, match='n = 0: expected a whole number of at least 1'):
        sb.Batch(arm(), 0)
    with pytest.raises(sb.InvalidValueError, match='threads = 0'):
        sb.Batch(arm(), 2, threads=0)
    with pytest.raises(sb.InvalidValueError, match=r"world = 'arm': expected a sim_bridge\.World"):
        sb.Batch('arm', 2)
    with pytest.raises(sb.InvalidValueError, match='vary of world 0'):
        sb.Batch(arm(), 2, vary=lambda world, draw: world.add_ground())
    with pytest.raises(sb.InvalidValueError, match='vary of world 0'):
        sb.Batch(arm(), 2, vary=lambda world, draw: setattr(world, 'solver', 'split'))
    batch = sb.Batch(arm(), 2)
    with pytest.raises(sb.InvalidValueError, match='a mask: 2 times True or False'):
        batch.step(1, [0, 1])
    with pytest.raises(sb.InvalidValueError, match='a number below 2'):
        batch.world(2)
    with pytest.raises(sb.InvalidValueError, match='efforts.*numbers that broadcast to'):
        batch.robots['arm'].u = [1.0, 2.0]
    for wrong in (np.zeros((2, 7), complex), 'text', [[True] * 7] * 2):
        with pytest.raises(sb.InvalidValueError, match='numbers that broadcast to'):
            batch.robots['arm'].q = wrong
    with pytest.raises(sb.InvalidValueError, match="robot 'arm', world 1"):
        batch.robots['arm'].u = [[0.0] * 7, [np.inf] * 7]
    with pytest.raises(sb.UnknownNameError, match="unknown robot 'leg'"):
        _ = batch.robots['leg']
    with pytest.raises(sb.UnknownNameError, match="unknown quantity 'forces'.*Did you mean"):
        _ = batch.robots['arm'].devices['wrist_ft']['forces']


def test_worlds_take_parameters_of_another():
    """Give some worlds other masses, friction and gains: they move like this other world."""
    world = arm()
    batch = sb.Batch(world, 4, threads=1)
    other = world.copy()
    vary_arm(other, np.random.default_rng(1))
    other.gravity = world.gravity
    batch.take_parameters(other, np.arange(4) < 2)
    batch.step(20)
    batch.reset()
    start = np.full(7, 0.1)
    batch.robots['arm'].q = start
    worlds = [batch.world(k) for k in range(4)]
    batch.step(50)
    for each in worlds:
        each.step(50)
    assert_same(batch, worlds)
    other.robots['arm'].q = start
    plain = world.copy()
    plain.robots['arm'].q = start
    for each in (other, plain):
        each.step(50)
    assert batch.robots['arm'].q[:2].tolist() == [other.robots['arm'].q.tolist()] * 2
    assert batch.robots['arm'].q[2:].tolist() == [plain.robots['arm'].q.tolist()] * 2
    assert batch.robots['arm'].q[0].tolist() != batch.robots['arm'].q[2].tolist()


def test_parameters_of_another_kind_of_world_are_refused():
    """Name the difference, and change nothing."""
    batch = sb.Batch(arm(), 2)
    before = [batch.world(k).state_hash() for k in range(2)]
    for other in (quadruped(), arm(solver='iterative')):
        with pytest.raises(sb.InvalidValueError, match='world'):
            batch.take_parameters(other)
    with pytest.raises(sb.InvalidValueError, match='a sim_bridge.World'):
        batch.take_parameters('arm')
    assert [batch.world(k).state_hash() for k in range(2)] == before


def test_efforts_of_motors_are_those_of_worlds():
    """Show the servo efforts."""
    world = arm()
    joint = world.robots['arm'].joint('joint_2')
    joint.control, joint.kp, joint.kd, joint.target_position = 'servo', 100.0, 10.0, 0.5
    batch = sb.Batch(world, 2)
    batch.step(5)
    world.step(5)
    assert (
        batch.robots['arm'].motor_effort[1].tolist() == world.robots['arm'].motor_efforts.tolist()
    )


def test_more_worlds_than_the_memory_holds_are_refused():
    """Say how many worlds fit, before anything is computed for each of them."""
    world = arm()
    for n in (10**12, 10**18):
        with pytest.raises(sb.InvalidValueError, match=f'n = {n}: expected at most') as caught:
            sb.Batch(world, n)
    most = int(re.search(r'at most (\d+) worlds', str(caught.value))[1])
    memory = os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES')
    assert 1000 * sb.Batch(world, 1).nbytes < most * sb.Batch(world, 1).nbytes < 1.01 * memory


@pytest.mark.parametrize('vary', [5, 'vary', [], {}, True, int])
def test_vary_is_a_function(vary):
    """Name the value and the expected kind of function."""
    with pytest.raises(sb.InvalidValueError, match=r'vary = .*: expected a function of a world'):
        sb.Batch(arm(), 2, vary=vary)


def test_a_batch_is_neither_copied_nor_pickled():
    """Name the way to copy its worlds, for the batch and for its views."""
    batch = sb.Batch(arm(), 2)
    batch.step(3)
    for thing in (batch, batch.robots, batch.robots['arm']):
        for call in (pickle.dumps, copy.deepcopy):
            with pytest.raises(sb.StateError, match=r'batch\.world'):
                call(thing)
    with pytest.raises(sb.StateError, match=r'batch\.world'):
        copy.copy(batch)
    again = pickle.loads(pickle.dumps(batch.world(1)))
    assert again.state_hash() == batch.world(1).state_hash()
