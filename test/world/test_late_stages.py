"""Stages compiled when geometries first come close: the time of compilation changes no bit."""

from __future__ import annotations

import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.compiler.build import build
from sim_bridge.engine.collision.stage import DETECT_CONVEX, NARROW
from sim_bridge.engine.contact.hybrid import HYBRID
from sim_bridge.engine.contact.newton_stage import NEWTON, SHARE
from sim_bridge.engine.contact.stage import CONTACT
from sim_bridge.simulation import cache, late_stages, step_runner

CONTACTS = {NARROW.unit, CONTACT.unit, NEWTON.unit, SHARE.unit}


@pytest.fixture
def built(monkeypatch):
    """Treat all units as not compiled until they are built; return the set of built units."""
    done = set()

    def note(units):
        units = list(units)
        build(units)
        done.update(units)

    for module in (cache, step_runner):
        monkeypatch.setattr(module, 'build', note)
    monkeypatch.setattr(
        late_stages, 'missing', lambda units: [unit for unit in units if unit not in done]
    )
    return done


def balls(**settings):
    """Return a world with two balls above the ground, one above the other."""
    world = sb.World(**settings)
    world.add_ground()
    for number in (1, 3):
        world.add_body(sb.Sphere(0.1), f'ball_{number}', position=(0.0, 0.0, 0.11 * number))
    return world


def cans():
    """Return a world with two cylinders falling on each other, both on a plane."""
    world = sb.World()
    world.add_ground()
    for number, x in enumerate((0.0, 0.05)):
        world.add_body(
            sb.Cylinder(0.05, 0.2), f'can_{number}', position=(x, 0.0, 0.12 + 0.35 * number)
        )
    return world


def hashes(world, steps):
    """Return the hash after each step."""
    return [world.state_hash() for _ in range(steps) if world.step() is None]


@pytest.mark.parametrize('make', [balls, cans, lambda: balls(integrator='rk5')])
def test_late_stages_keep_the_bits(built, make):
    """Take the same steps with early and late compilation."""
    late = hashes(make(), 300)
    assert built >= CONTACTS
    ready = make()
    ready.warm_up()
    assert hashes(ready, 300) == late


def test_contacts_are_compiled_when_something_comes_close(built):
    """Compile nothing for contacts in free fall, nothing generic for cylinders on a plane."""
    world = cans()
    world.step()
    assert not built & CONTACTS and built == set(world.simulation.cache.early_units)
    while not world.contacts:
        world.step()
    assert built >= CONTACTS and DETECT_CONVEX.unit not in built
    assert built == set(world.simulation.cache.standing_units)
    while DETECT_CONVEX.unit not in built:
        assert world.time < 1.0, 'the cylinders have met'
        world.step()
    world.step(10)
    assert {'can_0', 'can_1'} in [
        {contact.link_a.robot.name, contact.link_b.robot.name} for contact in world.contacts
    ]


def test_a_call_continues_after_compilation(built):
    """Continue within a call of many steps, as after growing the contact arrays."""
    world, stepwise = balls(), balls()
    world.step(300)
    for _ in range(300):
        stepwise.step()
    assert world.state_hash() == stepwise.state_hash()
    assert world.report.steps == 300


def test_a_first_step_in_contact_is_prepared(built):
    """Compile the pairs touching at the first step before it, as a node does."""
    world = sb.World()
    world.add_ground()
    world.add_body(sb.Sphere(0.1), 'ball', position=(0.0, 0.0, 0.1))
    world.simulation.runner.prepare_step()
    assert built >= CONTACTS and world.time == 0.0
    before = set(built)
    world.step(10)
    assert built == before


def test_sleepers_keep_their_contacts_in_a_new_process(built):
    """Restore sleepers and their loads, although no contact solver is compiled."""

    def sleepy():
        world = sb.World(sleep=True)
        world.add_ground()
        return world, world.add_body(sb.Box((0.1, 0.1, 0.1)), 'box', position=(0.0, 0.0, 0.05))

    world, box = sleepy()
    while not box.is_asleep:
        world.step()
    snapshot, ends = world.save(), []
    for is_late in (False, True):
        if is_late:
            built.clear()
        world, box = sleepy()
        if not is_late:
            world.warm_up()
        world.restore(snapshot)
        for number in range(40):
            if number == 20:
                box.set_base_velocity((0.0, 0.0, 2.0))
            world.step()
            ends.append((world.state_hash(), world.simulation.cache.state.contact_wrench.tolist()))
    assert ends[:40] == ends[40:]
    assert np.linalg.norm(ends[19][1]) > 1.0 and not np.any(ends[39][1])


def test_materials_with_solvers_come_as_a_whole(built):
    """Solve no contact before all stages named by its laws are compiled."""
    world = balls()
    build(CONTACTS)
    built |= CONTACTS
    world.set_contact_material('default', 'default', sb.ContactMaterial(solver='iterative'))
    world.step()
    assert HYBRID.unit not in built
    world.step(200)
    assert HYBRID.unit in built
