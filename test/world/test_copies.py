"""Copies and pickles of worlds and their parts, and worlds in two threads."""

import copy
import multiprocessing
import pickle
import threading

import numpy as np
import pytest

import sim_bridge as sb

VEHICLE = 'urdf/tracked_vehicle.urdf'
FOUR_BAR = 'urdf/four_bar.urdf'


def full_world():
    """Return a moving world with one object of each kind that a copy must keep."""
    world = sb.World(time_step=2e-3, seed=7, sleep=True)
    world.add_ground(sb.Material('ice', friction=0.2))
    arm = world.load_urdf('urdf/arm.urdf', position=(0.0, 3.0, 0.0))
    arm.joint(arm.joint_names[0]).control = 'position'
    arm.command_position([0.4], arm.joint_names[:1])
    vehicle = world.load_urdf(VEHICLE, position=(4.0, 0.0, 0.3))
    world.load_urdf(FOUR_BAR, position=(-4.0, 0.0, 1.0))
    world.load_scene(
        {
            'world': {
                'objects': {
                    f'brick_{k}': {
                        'box': [0.2, 0.2, 0.2],
                        'position': [0, 0, 0.1 + 0.21 * k],
                        'mass': 1.0,
                    }
                    for k in range(3)
                }
            }
        }
    )
    bodies = [
        world.add_body(sb.Sphere(0.1), mass=1.0, position=(1.0, 0.3 * k, 0.8)) for k in range(4)
    ]
    hinge = world.add_joint('hinge', bodies[0], bodies[1], axis=(1, 0, 0), anchor=(1, 0.1, 0.8))
    hinge.control, hinge.target_velocity = 'velocity', 1.5
    world.add_joint(
        'distance',
        bodies[1],
        bodies[2],
        (1.0, 0.3, 0.8),
        name='rod',
        anchor2=(1.0, 0.6, 0.8),
        cfm=1e-4,
    )
    world.add_angular_motor(bodies[2], bodies[3], [(1, 0, 0)]).axes[0].damping = 0.1
    world.set_contact_material('ice', 'default', sb.ContactMaterial(friction=0.6, restitution=0.2))
    world.exclude(bodies[0].root_link, bodies[3].root_link)
    bodies[3].geometries[0].groups = {'balls'}
    world.set_group_collision('balls', 'balls', False)
    bodies[2].root_link.linear_velocity_damping = (0.1, 0.1, 0.1)
    for crawler in vehicle.crawlers:
        crawler.speed = 0.5
    world.remove(world.add_body(sb.Sphere(0.1), mass=1.0, position=(9.0, 9.0, 9.0)))
    world.step(150)
    return world


def future(world):
    """Return the final state of a world, under actions of all kinds."""
    hashes = []
    world.step(100)
    hashes.append(world.state_hash())
    ball = world.add_body(sb.Sphere(0.1), mass=1.0, position=(0.0, 0.0, 2.0))
    world.joints['hinge'].target_velocity = -1.0
    world.remove_joint(world.joints['rod'])
    world.step(50)
    hashes.append((ball.name, world.state_hash()))
    world.reset()
    world.step(20)
    hashes.append(world.state_hash())
    return hashes


def send_future(world, pipe):
    """Send the future of a world received by another process."""
    pipe.send(future(world))
    pipe.close()


@pytest.mark.parametrize(
    'how',
    [sb.World.copy, copy.copy, copy.deepcopy, lambda world: pickle.loads(pickle.dumps(world))],
    ids=['world.copy', 'copy', 'deepcopy', 'pickle'],
)
def test_copy_has_the_same_future_and_is_independent(how):
    """A copy keeps the same bits, and its changes leave the original alone."""
    world = full_world()
    before = world.state_hash()
    twin = how(world)
    assert world.state_hash() == twin.state_hash() == before
    expected = future(twin)
    assert world.state_hash() == before
    assert future(world) == expected


def test_pickled_world_has_the_same_future_in_another_process():
    """A pickled world has the same bits in a new process."""
    world = full_world()
    context = multiprocessing.get_context('spawn')
    here, there = context.Pipe()
    child = context.Process(target=send_future, args=(world, there))
    child.start()
    there.close()
    found = here.recv()
    child.join()
    assert found == future(world)


def test_snapshot_can_be_pickled_and_fits_copies():
    """A pickled snapshot is restored by the world and by its copy."""
    world = full_world()
    snapshot = pickle.loads(pickle.dumps(world.save()))
    twin = world.copy()
    expected = future(world.copy())
    for each in (world, twin):
        each.step(30)
        each.restore(snapshot)
        assert future(each) == expected


def test_views_are_copied_with_their_world():
    """Views refer to the copy of their world, under the same names."""
    world = full_world()
    arm = world.robots['arm']
    views = [
        arm,
        arm.links[1],
        arm.joints[1],
        arm.joint(arm.joint_names[0]).axes[0],
        world.joints['hinge'],
        world.joints['rod'],
        world.robots['ground'].geometries[0],
        world.robots['tracked_vehicle'].crawlers[0],
        *arm.devices(sb.RateGyroSensor),
    ]
    twin, copies = copy.deepcopy((world, views))
    assert twin is not world
    for view, copied in zip(views, copies, strict=True):
        assert type(copied) is type(view) and copied is not view
        assert repr(copied) == repr(view)
    assert copies[0].world is twin and copies[1].robot is copies[0]
    assert copy.copy(arm) is arm
    materials = copy.copy(world.materials)
    materials.add(sb.Material('mud'))
    assert 'ice' in materials and 'mud' not in world.materials


def test_long_chain_can_be_copied():
    """Hundreds of bodies referring to each other do not exceed the recursion depth."""
    world, below = sb.World(), None
    for k in range(400):
        body = world.add_body(sb.Sphere(0.1), mass=1.0, position=(0.3 * k, 0.0, 0.0))
        world.exclude(body.root_link, (below or body).root_link)
        below = body
    assert pickle.loads(pickle.dumps(world)).state_hash() == world.state_hash()


def test_snapshot_of_another_time_step_is_refused():
    """A snapshot with another time step is named and changes nothing."""
    one, other = sb.World(time_step=1e-3), sb.World(time_step=2e-3)
    before = other.state_hash()
    with pytest.raises(sb.InvalidValueError, match='time step of 0.001 s.*time step, 0.002 s'):
        other.restore(one.save())
    assert other.state_hash() == before


def test_second_thread_is_refused_by_name_and_the_world_goes_on():
    """A second thread gets an error with both names; the first continues."""
    world = full_world()
    expected = world.copy()
    expected.step(400)
    entered, done, refused = threading.Event(), threading.Event(), []
    stepper = world.simulation.cache.stepper
    advance = stepper.advance

    def slow_advance(*arguments):
        entered.set()
        done.wait()
        return advance(*arguments)

    stepper.advance = slow_advance
    uses = (
        world.step,
        world.save,
        world.state_hash,
        world.reset,
        lambda: world.robots['arm'].ddq,
        lambda: world.robots['arm'].links[1].p,
        lambda: world.add_body(sb.Sphere(1.0), mass=1.0),
        lambda: world.remove('arm'),
        world.copy,
        lambda: world.raycast((0, 0, 1), (0, 0, -1)),
        lambda: world.raycasts((0, 0, 1), [(0, 0, -1)]),
    )
    stepping = threading.Thread(target=world.step, args=(400,), name='physics', daemon=True)
    stepping.start()
    try:
        entered.wait()
        for use in uses:
            with pytest.raises(sb.StateError) as caught:
                use()
            refused.append(str(caught.value))
    finally:
        done.set()
        stepping.join()
    assert len(refused) == len(uses)
    assert all("'MainThread'" in text and "'physics'" in text for text in refused)
    assert world.state_hash() == expected.state_hash()
    world.step()


def test_threads_with_worlds_of_their_own_do_not_meet():
    """Threads step copies of a world at once, with the same bits."""
    world = full_world()
    copies = [world.copy() for _ in range(2)]
    threads = [threading.Thread(target=each.step, args=(200,)) for each in copies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    world.step(200)
    assert {each.state_hash() for each in copies} == {world.state_hash()}
    assert np.isfinite(world.state.q).all()
