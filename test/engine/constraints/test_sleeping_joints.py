"""Constraint joints of sleeping bodies beside bodies that move and touch."""

from __future__ import annotations

import numpy as np
import pytest

import sim_bridge as sb

CONSTRAINTS = {'rigid': {}, 'compliant': {'erp': 0.3, 'cfm': 1e-4}}


def tied(options, time_step=2e-3):
    """Rest a box, tied to the world, on the ground; a ball falls beside it and rolls away."""
    world = sb.World(time_step=time_step, sleep=sb.Sleep(steps=5))
    world.add_ground()
    box = world.add_body(sb.Box((0.1, 0.1, 0.1)), 'box', mass=2.0, position=(0.0, 0.0, 0.05))
    joint = world.add_joint('ball', None, box, (0.0, 0.0, 0.2), tree=False, **options)
    ball = world.add_body(sb.Sphere(0.05), 'ball', mass=1.0, position=(1.0, 0.0, 0.2))
    ball.set_base_velocity((0.5, 0.0, 0.0))
    return world, box, joint


def step_until_asleep(world, body):
    """Step until a body sleeps."""
    while not body.is_asleep:
        assert world.time < 1.0
        world.step()


@pytest.mark.parametrize('options', CONSTRAINTS.values(), ids=list(CONSTRAINTS))
def test_reactions_of_sleepers_stay_as_another_body_touches(options):
    """Keep the reaction of a sleeping box's joint bit by bit through impacts of a ball."""
    world, box, joint = tied(options)
    step_until_asleep(world, box)
    reaction = np.concatenate(joint.feedback())
    for _ in range(300):
        world.step()
        assert box.is_asleep
        assert np.array_equal(np.concatenate(joint.feedback()), reaction)
    ball = world.robots['ball'].root_link
    assert ball.p[2] < 0.0501 and ball.v[0] > 0.3


@pytest.mark.parametrize('options', CONSTRAINTS.values(), ids=list(CONSTRAINTS))
def test_sleepers_depend_on_the_state_alone(options):
    """Go on from a snapshot, in a world without earlier steps, with the same bits."""
    world, box, _ = tied(options)
    step_until_asleep(world, box)
    fresh, _, _ = tied(options)
    fresh.restore(world.save())
    for _ in range(300):
        world.step()
        fresh.step()
        assert fresh.state_hash() == world.state_hash()
