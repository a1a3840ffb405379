"""World settings, changed after creation."""

from __future__ import annotations

import copy
import pickle

from contact_worlds import add_ball, add_block, grounded
import numpy as np
import pytest
from robots import double_pendulum

import sim_bridge as sb
from sim_bridge.simulation.assembly import present_state, restore_state

CHANGES = [
    {'solver': 'iterative'},
    {'solver': 'split'},
    {'solver': 'iterative', 'iterations': 3},
    {'integrator': 'rk5'},
    {'contact_margin': 0.01},
    {'erp': 0.05},
    {'erp': 0.3, 'cfm': 1e-4},
    {'sleep': sb.Sleep(0.5, 0.5, 4)},
    {'sleep': True},
    {'step_budget': 1000},
    {'step_budget': None},
]


def pile(**options):
    """Return a world with a moving pile, and a free pendulum."""
    world = grounded({'friction': 0.6}, **options)
    for k in range(4):
        add_block(world, size=(0.4, 0.3, 0.1), at=(0.05 * k, 0.02 * k), lift=0.11 * k)
    add_ball(world, at=(0.1, 0.0), lift=0.6)
    pendulum = world.load_urdf(double_pendulum(), position=(3.0, 0.0, 2.0))
    pendulum.q = [0.5, 1.0]
    return world


def set_all(world, change):
    """Set attributes of a world."""
    for name, value in change.items():
        setattr(world, name, value)


@pytest.mark.parametrize('change', CHANGES, ids=str)
def test_changed_settings_have_the_bits_of_initial_ones(change):
    """Continue with the same bits from the same state, at the start and later."""
    fresh, switched, kept = pile(**change), pile(), pile()
    set_all(switched, change)
    for world in (fresh, switched, kept):
        world.step(150)
    assert switched.state_hash() == fresh.state_hash() != kept.state_hash()
    # later: a new world takes over the state of one with other settings
    late = pile(**change)
    late.step(1)
    late.simulation.cache.make_room(len(kept.state.contact_gap))
    restore_state(present_state(kept.state), late.state)
    late.step_count = kept.step_count
    late.simulation.staleness.forget_observations()
    assert late.state_hash() != kept.state_hash()
    set_all(kept, change)
    assert late.state_hash() == kept.state_hash()
    for world in (late, kept):
        world.step(150)
    assert late.state_hash() == kept.state_hash()
    assert np.isfinite(kept.state.q).all()


@pytest.mark.parametrize('change', CHANGES, ids=str)
def test_settings_are_kept(change):
    """Keep settings in copies, pickles, snapshots and after resets; restore earlier ones."""
    world = pile()
    world.step(20)
    before, bits = world.save(), world.state_hash()
    set_all(world, change)
    expected = {name: sb.Sleep() if value is True else value for name, value in change.items()}
    for other in (world, world.copy(), copy.deepcopy(world), pickle.loads(pickle.dumps(world))):
        assert {name: getattr(other, name) for name in change} == expected
        assert other.state_hash() == world.state_hash() != bits
    after = world.save()
    world.restore(before)
    assert world.state_hash() == bits
    assert {name: getattr(world, name) for name in change} != expected
    world.restore(after)
    world.reset()
    assert {name: getattr(world, name) for name in change} == expected


def test_sweeps_are_as_many_as_allowed():
    """Take no more iterations than set, and more again without a bound."""
    world, most = pile(solver='iterative'), []
    for iterations in (None, 3, None):
        world.reset()
        world.iterations = iterations
        for _ in range(200):
            world.step()
        most.append(world.take_worst().sweeps)
    assert most[0] == most[2] > 3 == most[1]


def test_erp_and_cfm_are_defaults():
    """Let contacts sink by cfm, and joints yield, except those with their own values."""
    world = sb.World(cfm=1e-3, erp=0.4)
    world.add_ground()
    ball = world.add_body(sb.Sphere(0.1), mass=2.0, position=(0, 0, 0.1))
    world.step(3000)
    # ODE: normal velocity erp / h depth = cfm N, as 0 = v_n
    depth = 1e-3 * 2.0 * 9.81 * world.time_step / 0.4
    assert 0.1 - ball.root_link.p[2] == pytest.approx(depth, rel=1e-3)
    joint = world.add_joint('ball', ball, None)
    assert (joint.is_tree, joint.erp, joint.cfm) == (False, 0.4, 1e-3)
    other = world.add_body(sb.Sphere(0.1), mass=2.0, position=(1, 0, 2.0))
    assert world.add_joint('ball', None, other, cfm=0.0).is_tree
    world.set_contact_material('default', 'default', sb.ContactMaterial(cfm=0.0))
    assert world.materials.contact_material('default', 'default').erp == 0.4
    world.erp, world.cfm = 0.2, 0.0
    assert world.materials.contact_material('default', 'default').erp == 0.2
    third = world.add_body(sb.Sphere(0.1), mass=2.0, position=(2, 0, 2.0))
    assert world.add_joint('ball', None, third).is_tree


def test_sleepers_wake_when_sleep_is_turned_off():
    """Wake all bodies when sleep is turned off; sleep again when it is on."""
    world = grounded(sleep=True)
    block = add_block(world)
    world.step(50)
    assert block.is_asleep
    world.solver = 'iterative'
    assert block.is_asleep
    world.sleep = False
    assert world.sleep is None and not block.is_asleep
    world.step(50)
    assert not block.is_asleep
    world.sleep = sb.Sleep(steps=3)
    world.step(5)
    assert block.is_asleep


@pytest.mark.parametrize(
    ('name', 'value', 'words'),
    [
        ('solver', 'magic', "solver = 'magic'.*'direct'"),
        ('integrator', 4, 'integrator = 4'),
        ('iterations', 0, 'iterations = 0.*from 1'),
        ('iterations', 2.5, 'iterations = 2.5'),
        ('contact_margin', -1.0, 'contact_margin'),
        ('sleep', 'often', "sleep = 'often'.*Sleep"),
        ('step_budget', 10, 'step_budget = 10.*from 1000'),
        ('step_budget', 'x', 'step_budget'),
        ('erp', 1.5, 'erp = 1.5'),
        ('cfm', -1.0, 'cfm = -1.0'),
        ('cfm', 'x', "cfm = 'x'"),
    ],
)
def test_wrong_settings_change_nothing(name, value, words):
    """Name the setting and the accepted values, in a world and at its creation."""
    world = pile()
    before = world.state_hash()
    with pytest.raises(sb.InvalidValueError, match=words):
        setattr(world, name, value)
    assert world.state_hash() == before
    with pytest.raises(sb.InvalidValueError, match=words):
        sb.World(**{name: value})
