"""Step hooks: their order, effects, and failures."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

import sim_bridge as sb

STIFFNESS = 5.0


def spring(robot):
    """Pull a joint back, like Choreonoid's BodyCustomizer for a spring."""
    robot.u = -STIFFNESS * robot.q


def spring_in_the_middle(robot):
    """Pull by the joint's mid-step position: no energy is gained."""
    robot.u = -STIFFNESS * (robot.q + 0.5 * robot.world.time_step * robot.dq)


def push(world):
    """Push the only body."""
    world.robots['body'].root_link.add_force((2.0, 0.0, 0.0))


def swing(world):
    """Add a pendulum without gravity; return it and its inertia about the joint."""
    robot = world.load_urdf('pendulum')
    robot.q = 0.1
    return robot, sb.dynamics.mass_matrix(robot)[0, 0]


@pytest.mark.parametrize('formula', [spring, spring_in_the_middle])
def test_a_spring_by_a_formula_has_its_frequency(formula):
    """Swing by √(k / I), by the recurrence of steps with this formula."""
    h = 0.01
    world = sb.World(time_step=h, gravity=(0.0, 0.0, 0.0))
    robot, inertia = swing(world)
    joint = robot.joint(robot.joint_names[0])
    joint.damping = joint.friction = 0.0
    robot.before_step(formula)
    q = [robot.q[0]]
    for _ in range(300):
        world.step()
        q.append(robot.q[0])
    # q[n + 1] = trace q[n] - product q[n - 1], with trace and determinant of the step's matrix
    found, *_ = np.linalg.lstsq(np.column_stack([q[1:-1], q[:-2]]), q[2:], rcond=None)
    share = 0.5 * h * h * STIFFNESS / inertia
    wanted = (2.0 - share, -1.0 - share) if formula is spring else (2.0 - 2.0 * share, -1.0)
    np.testing.assert_allclose(found, wanted, rtol=1e-9)
    rate = math.acos(0.5 * found[0] / math.sqrt(-found[1])) / h
    assert rate == pytest.approx(math.sqrt(STIFFNESS / inertia), rel=1e-3)


def test_hooks_are_called_in_each_step_in_their_order():
    """Call before and after each of several steps, with the world at its time."""
    world = sb.World()
    calls = []
    hooks = [
        world.before_step(lambda each: calls.append(('before', each.step_count))),
        world.after_step(lambda each: calls.append(('after', each.step_count))),
        world.before_step(lambda each: calls.append(('second', each is world))),
    ]
    assert world.step_hooks == tuple(hooks)
    world.step(2)
    assert calls == [
        ('before', 0),
        ('second', True),
        ('after', 1),
        ('before', 1),
        ('second', True),
        ('after', 2),
    ]
    for hook in hooks:
        hook.remove()
        hook.remove()
    world.step(5)
    assert len(calls) == 6 and world.step_hooks == ()


def test_pushes_of_hooks_act_in_each_step_and_earlier_ones_once():
    """Accelerate by both, for the number of steps in which each acts."""
    world = sb.World(gravity=(0.0, 0.0, 0.0))
    body = world.add_body(sb.Sphere(0.1), 'body', mass=1.0)
    hook = world.before_step(push)
    world.step(100)
    assert body.root_link.v[0] == pytest.approx(0.2)
    body.root_link.add_force((0.0, 3.0, 0.0))
    world.step(100)
    hook.remove()
    world.step(100)
    np.testing.assert_allclose(body.root_link.v, (0.4, 0.003, 0.0), atol=1e-12)


@pytest.mark.parametrize('when', ['before_step', 'after_step'])
def test_a_failing_hook_leaves_the_world_before_the_step(when):
    """Undo all changes by hooks and the step, and raise the exception."""
    world = sb.World()
    robot, _ = swing(world)
    world.step(2)
    before = world.state_hash()

    def fails(each):
        robot.u = 3.0
        robot.joint(robot.joint_names[0]).damping = 7.0
        raise LookupError('gone')

    hook = getattr(world, when)(fails)
    with pytest.raises(LookupError, match='gone'):
        world.step(5)
    assert world.step_count == 2 and world.state_hash() == before
    hook.remove()
    world.step(5)
    assert world.step_count == 7


def test_hooks_go_with_copies_and_pickles():
    """Call them with the copy, and take the same steps."""
    world = sb.World(gravity=(0.0, 0.0, 0.0))
    robot, _ = swing(world)
    robot.before_step(spring)
    world.step(10)
    twins = [world.copy(), pickle.loads(pickle.dumps(world))]
    world.step(50)
    for twin in twins:
        assert twin.step_hooks[0].target is twin.robots[robot.name]
        twin.step(50)
        assert twin.state_hash() == world.state_hash()
    world.remove(robot)
    world.step()
    assert world.step_hooks == ()
    world.after_step(lambda each: None)
    with pytest.raises(sb.StateError, match=r'lambda> \(after_step\) cannot be pickled'):
        pickle.dumps(world)


def test_wrong_hooks_are_refused():
    """Refuse non-functions, and a step within a step."""
    world = sb.World()
    with pytest.raises(sb.InvalidValueError, match='a function of one argument'):
        world.before_step('spring')
    world.before_step(lambda each: each.step())
    with pytest.raises(sb.StateError, match='a step hook has called World.step'):
        world.step()
    assert world.step_count == 0
