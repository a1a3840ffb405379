"""Shipped hand, and the grasp recipe: lifted objects do not slip."""

from __future__ import annotations

import runpy

import numpy as np
import pytest
from tutorial import run_page

import sim_bridge as sb


@pytest.fixture(scope='module')
def recipe(tmp_path_factory):
    """Return the recipe's names after its code has run."""
    with pytest.MonkeyPatch.context() as patch:
        names, _ = run_page('grasp', tmp_path_factory.mktemp('grasp'), patch)
    return names


def test_the_file_matches_its_script(repository):
    """Find no manual change in the URDF, and the expected joints."""
    made = runpy.run_path(str(repository / 'urdf' / 'make_hand.py'))['hand']()
    assert made == (repository / 'urdf' / 'hand.urdf').read_text()
    hand = sb.World().load_urdf('hand')
    assert len(hand.joint_names) == 14
    assert hand.fixed_base


@pytest.mark.parametrize(('name', 'mass', 'epsilon'), [('ball', 0.2, 0.3), ('box', 0.3, 1.5)])
def test_the_object_is_lifted_without_slip(recipe, name, mass, epsilon):
    """Lift with the hand; finally the tip sensors carry the object's weight and their own."""
    world, problem, effort, slip = recipe[name]
    hand, body = world.robots['hand'], world.robots['object']
    assert effort.residual < 1e-9
    assert (effort.forces[:, 2] >= epsilon - 1e-9).all()
    assert len(problem.gap) == 4
    assert slip < 5e-4
    assert body.root_link.p[2] == pytest.approx(0.135, abs=5e-4)
    tips = [hand.link(f'{digit}_tip') for digit in recipe['DIGITS']]
    borne = sum(tip.R @ hand.device(tip.name).f for tip in tips)
    own = sum(tip.m for tip in tips)
    np.testing.assert_allclose(borne, [0.0, 0.0, -9.81 * (mass + own)], atol=0.01 * 9.81 * mass)


def test_a_box_is_not_held_without_friction(recipe):
    """Name the missing forces at the sides of a box."""
    _, problem, _, _ = recipe['box']
    assert (problem.friction == 0.8).all()
    with pytest.raises(sb.InfeasibleError, match="robot 'object' lacks a force"):
        sb.contact_problems.least_effort(problem, 0.3)


def test_a_hand_of_others_lifts_a_box_by_friction(example_robots):
    """Close the Allegro hand on a box, fingers above and thumb below, and raise its base."""
    world = sb.World()
    hand = world.load_urdf(example_robots['allegro_hand/allegro_right_hand'], base='free')
    hand.motion = 'kinematic'
    body = world.add_body(sb.Box((0.05, 0.14, 0.05)), 'box', mass=0.2, position=(0.085, 0.0, 0.03))
    tips = [hand.link(f'link_{last}.0_tip') for last in (3, 7, 11, 15)]
    q, rates = np.zeros(16), np.zeros((4, 16))
    for digit in range(4):
        q[4 * digit + 1 : 4 * digit + 4] = (0.3, 0.6, 0.6)
        rates[digit, 4 * digit + 1 : 4 * digit + 4] = (0.3, 1.0, 1.0)
    q[12:] = 1.3, 0.2, 0.4, 0.3
    hand.q = q
    for _ in range(20):
        nearest = world.find_distances(pairs=[(tip, body) for tip in tips])
        problem = world.contact_problem(nearest)
        approach = np.sum(problem.J[:, problem.coordinates[hand]][:, -16:] * rates, axis=1)
        hand.q = hand.q - nearest.gaps / approach @ rates
    contacts = world.find_contacts(margin=1e-6, a=hand, b=body)
    assert len(contacts) == 4
    effort = sb.contact_problems.least_effort(world.contact_problem(contacts), 2.0, friction=True)
    target, hand.u = hand.q.copy(), effort.u[hand]
    for name in hand.joint_names:
        joint = hand.joint(name)
        # the file's friction of 10 N m would hold any load
        joint.friction, joint.control, joint.kp, joint.kd = 0.0, 'servo', 50.0, 0.5
    hand.command_position(target)
    first = body.root_link.p - tips[0].p
    for step in range(600):
        rate = 0.1 * np.sin(np.pi * min(step / 500, 1.0)) ** 2
        hand.set_base_velocity((0.0, 0.0, rate))
        world.step()
        assert np.linalg.norm(body.root_link.p - tips[0].p - first) < 1e-3
    assert body.root_link.p[2] == pytest.approx(0.03 + 0.025, abs=1e-3)
