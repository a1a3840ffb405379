"""What falls without restitution lands once, and flat boxes land flat on each other."""

import numpy as np
import pytest

import sim_bridge as sb

H, G = 1e-3, 9.81
SIZE, COUNT, GAP = (0.4, 0.3, 0.2), 10, 0.02
SOLVERS = ['direct', 'iterative', 'split']


def pushed(world):
    """Return the impulse of the ground in the last step [N s]."""
    return H * np.abs(world.contacts.forces[:, 2]).sum()


@pytest.mark.parametrize('solver', SOLVERS)
@pytest.mark.parametrize('height', [0.2000, 0.2003, 0.2006, 0.2009, 0.2013, 0.2017])
@pytest.mark.parametrize('shape', [sb.Sphere(0.1), sb.Box((0.2, 0.2, 0.2))])
def test_what_lands_stays(shape, height, solver):
    """Touch the ground from the landing on, which takes the whole momentum, in two steps."""
    world = sb.World(time_step=H, solver=solver)
    world.add_ground()
    body = world.add_body(shape, 'body', mass=2.0, position=(0.0, 0.0, 0.1 + height))
    link, impulse, steps, fall = body.root_link, 0.0, 0, 0
    while not impulse:
        world.step()
        fall += 1
        impulse = pushed(world)
    while np.abs(link.v).max() > 1e-6:
        world.step()
        impulse += pushed(world)
        steps += 1
    assert fall * H == pytest.approx(np.sqrt(2.0 * height / G), abs=2.0 * H)
    assert steps <= 1
    # between steps gravity acts from step to step
    assert impulse == pytest.approx(2.0 * G * H * (fall + steps), rel=1e-6)
    for _ in range(20):
        world.step()
        assert link.p[2] == pytest.approx(0.1, abs=2e-6)
        assert pushed(world) == pytest.approx(2.0 * G * H, rel=1e-3)


def test_boxes_that_fall_flat_stay_flat():
    """Solve every landing of a stack to the tolerance; neither tilt, nor gain energy, nor rock."""
    world = sb.World(time_step=H)
    world.add_ground()
    boxes = [world.add_body(sb.Box(SIZE), f'box{k}', mass=10.0,
                            position=(0.0, 0.0, (k + 0.5) * SIZE[2] + (k + 1) * GAP))
             for k in range(COUNT)]
    energy = world.energy().total
    for _ in range(230):
        world.step()
        assert world.report.converged
        assert world.energy().total <= energy * (1.0 + 1e-12)
        energy = world.energy().total
    for k, box in enumerate(boxes):
        assert box.root_link.p == pytest.approx((0.0, 0.0, (k + 0.5) * SIZE[2]), abs=1e-6)
        assert np.abs(box.root_link.R - np.eye(3)).max() < 1e-9
        assert np.abs(box.root_link.v).max() < 1e-9
