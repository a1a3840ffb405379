"""The hand that ships, and the recipe of a grasp: what it lifts does not slip."""

from __future__ import annotations

import re
import runpy

import numpy as np
import pytest

import sim_bridge as sb


@pytest.fixture(scope='module')
def recipe(request):
    """Return the names of the recipe's code after it has run."""
    text = (request.config.rootpath / 'docs' / 'grasp.md').read_text()
    (code,) = re.findall(r'```python\n(.*?)```', text, re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(code, 'grasp.md', 'exec'), names)
    return names


def test_the_file_is_what_its_script_makes(repository):
    """Find no change by hand in the URDF, and the joints that it should have."""
    made = runpy.run_path(str(repository / 'urdf' / 'make_hand.py'))['hand']()
    assert made == (repository / 'urdf' / 'hand.urdf').read_text()
    hand = sb.World().load_urdf('hand')
    assert len(hand.joint_names) == 14
    assert hand.fixed_base


@pytest.mark.parametrize(('name', 'mass', 'epsilon'), [('ball', 0.2, 0.3), ('box', 0.3, 1.5)])
def test_the_object_is_lifted_without_slip(recipe, name, mass, epsilon):
    """Raise it with the hand; in the end the tips' sensors bear its weight and their own."""
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
    """Name what the sides of a box cannot bear."""
    _, problem, _, _ = recipe['box']
    assert (problem.friction == 0.8).all()
    with pytest.raises(sb.InfeasibleError, match="robot 'object' lacks a force"):
        sb.contact.least_effort(problem, 0.3)
