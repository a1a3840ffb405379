"""Diverging steps are refused before numbers lose meaning, with place and cause."""

from __future__ import annotations

import re

from contact_worlds import grounded
import numpy as np
import pytest
from robots import joint, link, robot, rotor
from shipped import FOLDER, path_of

import sim_bridge as sb


def cable(tip, links=20, light=1e-3, length=0.05):
    """Return a chain of light links with a heavy one at its end, straight along x."""
    parts, parent = [link('world', 0.0)], 'world'
    for k in range(links):
        mass = tip if k == links - 1 else light
        across = mass * length**2 / 12.0
        parts += [
            link(f'l{k}', mass, (length / 2, 0, 0), (0.1 * across + 1e-9, across, across)),
            joint(
                f'j{k}',
                parent,
                f'l{k}',
                'continuous',
                (0, 0, 1) if k % 2 else (0, 1, 0),
                (length if k else 0, 0, 0),
            ),
        ]
        parent = f'l{k}'
    return robot(*parts)


def refused(world, before_step=lambda: None):
    """Step until a step is refused; return the error message; check that the state is kept."""
    text, before = '', ''
    for _ in range(1000):
        before_step()
        before = world.state_hash()
        try:
            world.step()
        except sb.SimulationError as error:
            text = str(error)
            break
    assert f'step {world.step_count + 1} of {world.time_step} s diverges' in text
    assert world.state_hash() == before
    return text


def test_a_light_cable_with_a_heavy_tip_names_links_and_a_stable_step():
    """Refuse at speeds of hundreds of rad/s, and name a light link and a shorter step."""
    world = sb.World()
    chain = world.load_urdf(cable(10.0))
    begun = world.energy().total
    text = refused(world)
    assert re.search(r"velocity of robot 'robot', joint 'j\d+' goes from \S+ to \S+ rad/s", text)
    assert re.search(r"Link 'l\d+' of 0.001 kg carries 10 kg", text)
    assert re.search(r"likewise 'j\d+', 'j\d+', 'j\d+' and \d others", text)
    assert np.abs(chain.dq).max() < 1e3
    assert abs(world.energy().total - begun) < 10.0
    again = sb.World(time_step=float(re.search(r'Try a time step of (\S+) s', text).group(1)))
    chain = again.load_urdf(cable(10.0))
    again.step(round(1.0 / again.time_step))
    assert np.abs(chain.dq).max() < 100.0


def test_a_control_law_with_too_high_gains_is_named():
    """Let a damper written in Python double the speed in each step."""
    world = sb.World(gravity=(0.0, 0.0, 0.0))
    wheel = world.load_urdf(rotor())
    wheel.dq = [1.0]

    def brake():
        """Push against the motion, three times as hard as needed to stop it."""
        wheel.u = -0.5 * 3000.0 * wheel.dq

    text = refused(world, brake)
    for part in (
        "joint 'joint' goes from",
        '2 times the change of the step before',
        'effort u = ',
        'gains of a control law are too high',
        "control = 'servo'",
        'Try a time step of 0.000',
    ):
        assert part in text


def test_impossible_speeds_are_refused():
    """Name the base that is faster than light."""
    world = sb.World()
    ball = world.add_body(sb.Sphere(0.1), mass=1.0)
    ball.set_base_velocity((2e9, 0.0, 0.0), (0.0, 0.0, 0.0))
    with pytest.raises(
        sb.SimulationError,
        match=(r"the base of robot 'body' goes from .* m/s.*No velocity may exceed 1e\+09.*lower"),
    ):
        world.step()
    assert world.step_count == 0


def test_a_diverging_world_in_a_batch_harms_no_other():
    """Mark it as failed, with its previous state, and continue all others."""
    world = sb.World()
    world.load_urdf(cable(10.0))

    def vary(work, rng):
        """Add joint friction that holds about every second chain nearly still."""
        if rng.random() < 0.5:
            for each in work.robots['robot'].joints:
                each.friction = 30.0

    batch = sb.Batch(world, 6, seed=2, vary=vary, raises=False)
    first = [batch.world(k).robots['robot'].joint('j0') for k in range(6)]
    loose = np.array([each.friction == 0.0 for each in first])
    assert 0 < loose.sum() < 6
    batch.step(500)
    assert (batch.failed == loose).all()
    assert (batch.step_count[~loose] == 500).all()
    assert (batch.step_count[loose] < 400).all()
    with pytest.raises(sb.SimulationError, match='1 world in the batch diverged or gave'):
        sb.Batch(batch.world(int(np.flatnonzero(loose)[0])), 1).step(10)


def spun_up():
    """Accelerate a rotor to 1e4 rad/s in one step, and back, by an unlimited motor."""
    world = sb.World(gravity=(0.0, 0.0, 0.0))
    wheel = world.load_urdf(rotor())
    axis = wheel.joint('joint')
    axis.control = 'velocity'
    for speed in (1e4, -1e4, 1e6, 0.0):
        axis.target_velocity = speed
        world.step(3)
        assert wheel.dq[0] == speed


def shot():
    """Shoot a 1000 m/s bullet at a plate, and through the air beside it."""
    world = grounded({'restitution': 0.5})
    plate = world.add_body(sb.Box((0.02, 0.5, 0.5)), mass=5.0, position=(0.0, 0.0, 0.25))
    for y in (0.1, 1.0):
        bullet = world.add_body(sb.Sphere(0.005), mass=0.008, position=(-1.0, y, 0.3))
        bullet.set_base_velocity((1000.0, 0.0, 0.0), (1e4, 0.0, 0.0))
    world.step(200)
    assert plate.root_link.p[0] > 0.01


def tumbling():
    """Tumble at 1e4 rad/s, and 1e4 m/s."""
    world = sb.World(gravity=(0.0, 0.0, 0.0))
    body = world.add_body((), mass=1.0, inertia=(0.1, 0.2, 0.3))
    body.set_base_velocity((1e4, 0.0, 0.0), (10.0, 1e4, 1.0))
    world.step(500)


def tiny():
    """Drop spinning grains of 10 µm to the ground, and swing a hinge of similar size."""
    world = grounded(time_step=1e-4)
    for k in range(4):
        grain = world.add_body(
            sb.Box((1e-5, 2e-5, 3e-5)), mass=1e-12, position=(1e-3 * k, 0.0, 1e-4)
        )
        grain.set_base_velocity((0.1, 0.0, 0.0), (300.0, 100.0 * k, 50.0))
    world.load_urdf(cable(1e-12, 4, 1e-12, 1e-5), position=(0.0, 0.0, 0.1))
    world.step(1000)


def gyroscope():
    """Let a wheel at 1e4 rad/s precess on two hinges."""
    world = sb.World()
    top = world.load_urdf(
        robot(
            link('world', 0.0),
            link('arm', 1.0, (0.2, 0, 0), (0.01, 0.02, 0.02)),
            joint('turn', 'world', 'arm', 'continuous', (0, 0, 1)),
            link('fork', 0.2, (0, 0, 0), (0.001, 0.001, 0.001)),
            joint('tilt', 'arm', 'fork', 'continuous', (0, 1, 0), (0.4, 0, 0)),
            link('wheel', 0.5, (0, 0, 0), (0.002, 0.001, 0.001)),
            joint('spin', 'fork', 'wheel', 'continuous', (1, 0, 0), (0.05, 0, 0)),
        )
    )
    top.joint('spin').dq = 1e4
    energy = world.energy().total
    world.step(1000)
    assert world.energy().total == pytest.approx(energy, rel=1e-6)


def fallen():
    """Throw a humanoid flailing at 50 rad/s onto the ground, with steps of 10 ms."""
    world = sb.World(time_step=1e-2)
    world.add_ground()
    thrown = world.load_body(FOLDER / 'biped.body', position=(0.0, 0.0, 3.0))
    thrown.set_base_velocity((5.0, 0.0, -10.0), (20.0, 10.0, 5.0))
    thrown.dq = np.linspace(-50.0, 50.0, len(thrown.dq))
    world.step(200)


def stopped():
    """Run an arm at 40 rad/s into its stops."""
    world = sb.World()
    arm = world.load_urdf(path_of('arm'))
    arm.dq = np.linspace(-40.0, 40.0, len(arm.dq))
    world.step(1000)


def sunken():
    """Separate boxes placed into each other."""
    world = grounded()
    for k in range(8):
        world.add_body(sb.Box((0.3, 0.3, 0.3)), mass=1.0, position=(0.02 * k, 0.01 * k, 0.2))
    world.step(300)


@pytest.mark.parametrize(
    'happens', [spun_up, shot, tumbling, tiny, gyroscope, fallen, stopped, sunken]
)
def test_fast_motion_is_not_refused(happens):
    """Simulate every case without refusing a step."""
    happens()


@pytest.mark.parametrize('is_tree', [True, False])
def test_enormous_inputs_are_named(is_tree):
    """Name the effort that overflows; refuse gravity of such a size."""
    world = sb.World()
    box = world.add_body(sb.Box((0.1, 0.1, 0.1)), 'box', mass=1.0)
    hinge = world.add_joint('hinge', None, box, axis=(0, 0, 1), tree=is_tree, name='pivot')
    hinge.axes[0].u = 1e300
    with pytest.raises(sb.SimulationError, match=r"enormous: u = 1e\+300 at .*'pivot'"):
        world.step()
    hinge.axes[0].u = 0.0
    world.step()
    with pytest.raises(
        sb.InvalidValueError, match='gravity = .*expected three numbers of at most'
    ):
        world.gravity = (0.0, 0.0, -1e300)
    world.gravity = (0.0, 0.0, -1e9)
