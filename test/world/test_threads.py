"""Other threads are kept out of a world during a guarded call, and only then."""

import ast
import linecache
from pathlib import Path
import threading

from interrupts import Interrupt
import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge import dynamics

ROOT = Path(sb.__file__).parent


def arm(world):
    """Return the robot with joints."""
    return world.robots['arm']


def alone(world):
    """Make a call with other threads kept out."""
    world.simulation.thread_guard.run_alone(list)


CALLS = {
    'step': lambda world: world.step(),
    'sites': lambda world: arm(world).root_link.p,
    'refresh': lambda world: (world.add_body(sb.Sphere(0.1)), world.energy()),
    'raycast': lambda world: world.raycast((0.0, 0.0, 5.0), (0.0, 0.0, -1.0)),
    'raycasts': lambda world: world.raycasts([(0.0, 0.0, 5.0)], [(0.0, 0.0, -1.0)]),
    'dynamics': lambda world: dynamics.mass_matrix(arm(world), np.zeros((2, 7))),
    'alone': alone,
}


def made():
    """Return a world after a step."""
    world = sb.World(time_step=1e-3)
    world.add_ground()
    world.load_urdf('arm')
    world.step()
    return world


def edges(call):
    """Return the indices of run lines that set the holder, and of the lines after them."""
    # the first call compiles
    call(made())
    world = made()
    with Interrupt() as interrupt:
        call(world)
    sets = [
        at
        for at, line in enumerate(interrupt.lines)
        if linecache.getline(*line).strip().startswith('guard.holder = ')
    ]
    return sorted({*sets, *(at + 1 for at in sets if at + 1 < len(interrupt.lines))})


def step_elsewhere(world):
    """Step a world in another thread; return the error, or None."""
    errors = []

    def step():
        try:
            world.step()
        except sb.StateError as error:
            errors.append(error)

    thread = threading.Thread(target=step)
    thread.start()
    thread.join()
    return errors[0] if errors else None


@pytest.mark.parametrize('name', CALLS)
def test_an_interrupt_at_the_edge_of_a_call_locks_nobody_out(name):
    """Interrupt a call where it sets the holder; another thread can step afterwards."""
    found = edges(CALLS[name])
    assert found
    for at in found:
        world = made()
        with Interrupt(at) as interrupt, pytest.raises(KeyboardInterrupt):
            CALLS[name](world)
        assert step_elsewhere(world) is None, interrupt.place
        assert world.simulation.thread_guard.holder == 0
        world.step()


def test_an_ended_thread_locks_nobody_out():
    """A thread that ended without leaving the world is not inside."""
    world = made()
    guard = world.simulation.thread_guard
    thread = threading.Thread(target=lambda: setattr(guard, 'holder', threading.get_ident()))
    thread.start()
    thread.join()
    world.step()
    assert guard.holder == 0


def test_a_thread_in_another_world_is_not_inside():
    """An interrupted thread can step another world without locking anybody out of this one."""
    world, other = made(), made()
    guard, errors = world.simulation.thread_guard, []
    guard.holder = threading.get_ident()
    other.simulation.thread_guard.run_alone(lambda: errors.append(step_elsewhere(world)))
    assert errors == [None]


def test_a_thread_inside_keeps_others_out():
    """While a thread is in a guarded call, also a nested one, another thread cannot step."""
    world, errors = made(), []
    guard = world.simulation.thread_guard
    guard.run_alone(lambda: guard.run_alone(lambda: errors.append(step_elsewhere(world))))
    assert isinstance(errors[0], sb.StateError)
    guard.run_alone(lambda: (world.energy(), errors.append(step_elsewhere(world))))
    assert isinstance(errors[1], sb.StateError)
    assert step_elsewhere(world) is None


def test_functions_that_set_the_holder_are_guarded():
    """Every function outside the guard's class that sets `holder` has the decorator."""
    found = []
    for path in ROOT.rglob('*.py'):
        if path.name != 'thread_guard.py' and '.holder = ' not in path.read_text():
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.FunctionDef):
                continue
            sets = any(
                isinstance(each, ast.Attribute)
                and each.attr == 'holder'
                and isinstance(each.ctx, ast.Store)
                and ast.unparse(each.value) != 'self'
                for each in ast.walk(node)
            )
            if sets:
                found.append(node.name)
                decorators = [ast.unparse(each) for each in node.decorator_list]
                assert 'guarded' in decorators, f'{path}: {node.name}'
    assert len(found) >= 6


def test_a_thread_that_steps_beside_hooks_is_told_so():
    """Refuse another thread's step while a hook runs, with another reason than a hook's step."""
    world, inside, goes_on = made(), threading.Event(), threading.Event()

    def wait(world) -> None:
        with pytest.raises(sb.StateError, match='a step hook has called'):
            world.step()
        inside.set()
        goes_on.wait()

    world.before_step(wait)
    thread = threading.Thread(target=world.step)
    thread.start()
    inside.wait()
    with pytest.raises(sb.StateError, match='another thread is calling the step hooks'):
        world.step()
    goes_on.set()
    thread.join()
    assert world.step_count == 2
