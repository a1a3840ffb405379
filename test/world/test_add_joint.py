"""`World.add_joint`: wrong arguments, tree joints, compliant joints."""

from __future__ import annotations

import math

from linkages import bar, body, G, imbalance, INERTIA, turn, X, Y, Z
import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.foundation.errors import InvalidValueError, StateError, UnknownNameError


@pytest.fixture(scope='module')
def pair():
    """Return a world with two bodies, and a body from another world."""
    world = sb.World()
    return body(world, name='a'), body(world, X, name='b'), body(sb.World(), name='stranger')


# --- wrong arguments -----------------------------------------------------------------------------

REFUSED = {
    'kind': ({'kind': 'screw'}, "kind = 'screw'.*'hinge_motor' or 'slider_motor'"),
    'kind no text': ({'kind': None}, 'kind = None'),
    'kind an array': ({'kind': np.array(['hinge'])}, 'kind = array'),
    'first': ({'first': 'nobody'}, "first = 'nobody'.*a link or a body of this world, or None"),
    'second': ({'second': 3.0}, 'second = 3.0.*a link or a body of this world, or None'),
    'itself': ({'second': 'a'}, 'second.*not fixed to the first'),
    'nothing': ({'first': None, 'second': None}, 'second = None'),
    'another world': ({'second': 'stranger'}, 'second.*of this world'),
    'anchor': ({'anchor': (0.0, 1.0)}, 'anchor = .*3 finite numbers'),
    'anchor text': ({'anchor': 'here'}, "anchor = 'here'"),
    'anchor not finite': ({'anchor': (0.0, 0.0, math.nan)}, 'anchor = .*nan'),
    'anchor2': ({'anchor2': (math.inf, 0.0, 0.0)}, 'anchor2 = .*inf'),
    'axis': ({'axis': (0.0, 0.0, 0.0)}, 'axis = .*not all 0'),
    'axis not finite': ({'axis': (math.nan, 0.0, 0.0)}, 'axis = .*nan'),
    'axis2 missing': ({'kind': 'universal'}, 'axis2 = None'),
    'axis2 along axis': ({'kind': 'hinge2', 'axis2': -2.0 * Z}, 'axis2 = .*not along axis'),
    'axis2 of a hinge': ({'axis2': X}, "axis2 = .*none, but for 'universal' and 'hinge2'"),
    'distance of none': ({'kind': 'distance'}, 'anchor2 = None.*away from the anchor'),
    'erp': ({'erp': 1.5}, 'erp = 1.5.*share from 0 to 1'),
    'erp negative': ({'erp': -0.1}, 'erp = -0.1'),
    'cfm': ({'cfm': -1e-9}, r'cfm = -1e-09.*m/\(N s\)'),
    'cfm not finite': ({'cfm': math.inf}, 'cfm = inf'),
    'suspension of a hinge': ({'suspension': (1.0, 1.0)}, "suspension = .*'hinge2'"),
    'suspension': (
        {'kind': 'hinge2', 'axis2': X, 'suspension': 5.0},
        'suspension = 5.0.*stiffness and',
    ),
    'stiffness': (
        {'kind': 'hinge2', 'axis2': X, 'suspension': (0.0, 1.0)},
        'stiffness = 0.0.*positive',
    ),
    'suspension damping': (
        {'kind': 'hinge2', 'axis2': X, 'suspension': (1.0, -1.0)},
        'damping = -1.0',
    ),
    'name': ({'name': 5}, 'name = 5'),
    'no name': ({'name': ''}, "name = ''"),
}


@pytest.mark.parametrize(('wrong', 'message'), REFUSED.values(), ids=REFUSED)
def test_wrong_arguments_are_named(pair, wrong, message):
    """Name the argument, its value, the place and the alternatives; leave the world unchanged."""
    bodies = {one.name: one for one in pair}
    arguments = {'kind': 'hinge', 'first': 'a', 'second': 'b'} | wrong
    for which in ('first', 'second'):
        arguments[which] = bodies.get(arguments[which], arguments[which])
    world = bodies['a'].world
    with pytest.raises(InvalidValueError, match=message) as caught:
        world.add_joint(**arguments)
    assert 'add_joint' in str(caught.value)
    assert not world.joints


MOTORS_REFUSED = {
    'none': ({'axes': []}, 'axes = .*one to three'),
    'four': ({'axes': [X, Y, Z, X]}, 'axes = '),
    'no axis': ({'axes': [X, (0.0, 0.0, 0.0)]}, 'axes = .*not all 0'),
    'text': ({'axes': 'x'}, "axes = 'x'"),
    'euler': ({'axes': [X, Y, Z], 'euler': True}, 'axes = .*two for Euler angles'),
    'slanted': ({'axes': [X, X + Y], 'euler': True}, 'axes = .*right angles'),
    'fixed_on': (
        {'axes': [X], 'fixed_on': ['third']},
        "fixed_on = .*'first', 'second' or 'world'",
    ),
    'too few': ({'axes': [X, Y], 'fixed_on': ['first']}, 'fixed_on = '),
    'fixed on a number': ({'axes': [X], 'fixed_on': 5}, 'fixed_on = 5'),
    'fixed on lists': ({'axes': [X], 'fixed_on': [['first']]}, 'fixed_on = '),
    'fixed by Euler': (
        {'axes': [X, Y], 'euler': True, 'fixed_on': ['second', 'first']},
        'fixed_on = .*None for',
    ),
}


@pytest.mark.parametrize(('arguments', 'message'), MOTORS_REFUSED.values(), ids=MOTORS_REFUSED)
def test_wrong_arguments_of_angular_motors_are_named(pair, arguments, message):
    """Name the argument, its value, the place and the alternatives; leave the world unchanged."""
    first, second, _ = pair
    with pytest.raises(InvalidValueError, match=f'{message}') as caught:
        first.world.add_angular_motor(first, second, **arguments)
    assert 'add_angular_motor' in str(caught.value)
    assert not first.world.joints


@pytest.mark.parametrize('length', [1e-300, 1e-12, 1e200, 1.7e308])
def test_axes_may_have_any_length(length):
    """Take an axis' direction, even if its square overflows or vanishes."""
    world = sb.World()
    joint = world.add_joint('hinge', None, body(world), axis=(length, length, 0.0))
    np.testing.assert_allclose(joint.axis, (math.sqrt(0.5), math.sqrt(0.5), 0.0), atol=1e-15)


@pytest.mark.parametrize('wrong', ['hinge', None, 5])
def test_only_joints_are_removed(wrong):
    """Name an object that is no joint, and the alternatives."""
    world = sb.World()
    world.add_joint('hinge', None, body(world))
    with pytest.raises(InvalidValueError, match='joint = .*remove_joint.*a joint from add_joint'):
        world.remove_joint(wrong)
    assert list(world.joints) == ['hinge']


def test_impossible_tree_joints_are_refused():
    """Refuse a tree joint that closes a loop or is compliant."""
    world = sb.World()
    first, second = body(world), body(world, X)
    for more in ({'cfm': 1e-5}, {'anchor2': (0.0, 0.0, 0.1)}):
        with pytest.raises(StateError, match="joint 'hinge' cannot be part of a tree"):
            world.add_joint('hinge', first, second, tree=True, **more)
    world.add_joint('hinge', first, second)
    with pytest.raises(StateError, match="joint 'again' cannot.*Leave out tree=True"):
        world.add_joint('ball', first, second, name='again', tree=True)
    assert list(world.joints) == ['hinge']


def test_names_are_numbered_and_unique():
    """Number kinds, refuse a used name, and list the existing ones."""
    world = sb.World()
    ones = [body(world, k * X) for k in range(4)]
    joints = [world.add_joint('hinge', None, one) for one in ones[:2]]
    joints.append(world.add_joint('ball', None, ones[2], tree=False))
    assert list(world.joints) == ['hinge', 'hinge_2', 'ball']
    with pytest.raises(InvalidValueError, match="name = 'ball'.*taken: hinge, hinge_2, ball"):
        world.add_joint('hinge', None, ones[3], name='ball')
    with pytest.raises(UnknownNameError, match="unknown joint 'hing' in the world. Did you mean"):
        world.joint('hing')
    world.remove_joint(joints[0])
    with pytest.raises(UnknownNameError, match="unknown joint 'hinge'"):
        world.remove_joint(joints[0])
    assert world.add_joint('hinge', None, ones[0]).name == 'hinge'


# --- trees ---------------------------------------------------------------------------------------


@pytest.mark.parametrize('upper', ['ball', 'hinge', 'universal', 'planar', 'piston'])
@pytest.mark.parametrize('lower', ['ball', 'hinge', 'universal', 'hinge2', 'planar', 'fixed'])
def test_nothing_moves_as_a_tree_is_hung_up(lower, upper):
    """Keep the pose of three links, and their joint coordinates; then all form one tree."""
    world = sb.World()
    ones = [body(world, (k, 0.1, 0.2 * k), turn((1, k, 2), 0.5 * k)) for k in range(3)]
    places = [(one.root_link.p, one.root_link.R) for one in ones]

    def second_axis(kind):
        return {'axis2': X} if kind in ('universal', 'hinge2') else {}

    below = [
        world.add_joint(lower, *two, axis=Y, **second_axis(lower))
        for two in zip(ones, ones[1:], strict=False)
    ]
    hung = world.add_joint(upper, None, ones[0], (-0.5, 0.0, 0.0), Y, **second_axis(upper))
    assert all(joint.is_tree for joint in (*below, hung))
    for one, (p, R) in zip(ones, places, strict=True):
        np.testing.assert_allclose(one.root_link.p, p, atol=1e-14)
        np.testing.assert_allclose(one.root_link.R, R, atol=1e-14)
    for joint in (*below, hung):
        if joint.axes:
            np.testing.assert_allclose(joint.q, 0.0, atol=1e-14)
    world.step(10)
    np.testing.assert_array_less(imbalance(world), 1e-9)


def test_trees_are_rerooted_if_needed():
    """Attach a chain by its former end: coordinates keep their sign and their values."""
    world = sb.World()
    chain = [bar(world, (k, 0.0, 0.0), (k + 1.0, 0.0, 0.0)) for k in range(3)]
    joints = [
        world.add_joint('hinge', *two, (k + 1.0, 0.0, 0.0), Y)
        for k, two in enumerate(zip(chain, chain[1:], strict=False))
    ]
    for number, joint in enumerate(joints):
        joint.q, joint.damping, joint.upper = 0.2 * (number + 1), 0.1, 1.5
    axes = [joint.axes[0] for joint in joints]
    places = [one.root_link.p for one in chain]
    end = chain[2].root_link
    hung = world.add_joint('hinge', None, end, end.p + 0.5 * end.R[:, 0], Y)
    assert hung.is_tree
    for number, (joint, one, p) in enumerate(zip(joints, chain, places, strict=False)):
        assert joint.q == pytest.approx(0.2 * (number + 1), abs=1e-14)
        assert (joint.damping, joint.upper) == (0.1, 1.5)
        np.testing.assert_allclose(one.root_link.p, p, atol=1e-14)
    # existing references to an axis stay valid
    assert [axis.q for axis in axes] == [joint.q for joint in joints]
    world.step(100)
    np.testing.assert_array_less(imbalance(world), 1e-9)


@pytest.mark.parametrize('tree', [True, False])
@pytest.mark.parametrize('kind', ['ball', 'hinge', 'slider', 'universal', 'piston', 'fixed'])
def test_links_meet_as_in_an_impact(kind, tree):
    """Join a moving body to one at rest: no momentum is lost, and no energy gained."""
    world = sb.World(gravity=(0.0, 0.0, 0.0))
    one = body(world, linear_velocity=X, angular_velocity=(0.5, 0.0, 2.0))
    two = body(world, (0.5, 0.0, 0.1), mass=2.0)
    before, energy = world.momentum(), world.energy().total
    world.add_joint(
        kind, one, two, (0.2, 0.1, 0.0), Z, X if kind == 'universal' else None, tree=tree
    )
    world.step()
    after = world.momentum()
    np.testing.assert_allclose(after.linear, before.linear, atol=1e-8)
    np.testing.assert_allclose(after.angular, before.angular, atol=1e-7)
    assert world.energy().total < 0.95 * energy


@pytest.mark.parametrize('tree', [True, False])
def test_a_body_flying_past_its_hinge_turns_about_it(tree):
    """Keep the angular momentum of a flying body about the axle that catches it."""
    world = sb.World(gravity=(0.0, 0.0, 0.0))
    one = body(world, 0.5 * X, mass=2.0, linear_velocity=(0.3, 3.0, 0.2))
    axle = world.add_joint('hinge', None, one, np.zeros(3), Z, tree=tree)
    world.step()
    assert axle.dq == pytest.approx(2.0 * 0.5 * 3.0 / (2.0 * 0.5**2 + INERTIA[2]), rel=1e-5)


@pytest.mark.parametrize('tree', [True, False])
def test_a_released_body_flies_on(tree):
    """Keep pose and velocity as a joint is removed, and fall from there."""
    world = sb.World()
    one = body(world, 0.5 * X)
    joint = world.add_joint('hinge', None, one, np.zeros(3), Y, tree=tree)
    world.step(300)
    link = one.root_link
    p, v, w = link.p, link.v, link.w
    world.remove_joint(joint)
    np.testing.assert_allclose(link.p, p, atol=1e-14)
    np.testing.assert_allclose(link.v, v, atol=1e-14)
    np.testing.assert_allclose(link.w, w, atol=1e-14)
    world.step(200)
    np.testing.assert_allclose(link.p, p + 0.2 * v - 0.02 * G * Z, atol=1e-10)
    assert not world.joints


@pytest.mark.parametrize('collide', [True, False])
def test_linked_bodies_touch_only_if_allowed(collide):
    """Push boxes apart that a joint holds into each other, or not."""
    world = sb.World(gravity=(0.0, 0.0, 0.0))
    boxes = [
        world.add_body(sb.Box((0.2, 0.2, 0.2)), mass=1.0, position=(x, 0.0, 0.0))
        for x in (0.0, 0.21)
    ]
    slider = world.add_joint('slider', *boxes, axis=X, collide=collide)
    slider.u = -1.0
    world.step(500)
    assert (len(world.contacts) > 0) == collide
    assert (slider.q > -0.011) == collide


# --- compliant joints ----------------------------------------------------------------------------

TYPES = (
    'ball',
    'hinge',
    'slider',
    'universal',
    'hinge2',
    'fixed',
    'piston',
    'planar',
    'distance',
    'inline',
)


@pytest.mark.parametrize('kind', TYPES)
def test_weight_stretches_compliant_joints(kind):
    """Sag by m g / k with ODE's k = ERP / (h CFM), and balance."""
    world = sb.World()
    one = body(world, -Z, mass=2.0)
    more = {'axis2': Y} if kind in ('universal', 'hinge2') else {}
    more |= {'anchor2': -Z} if kind == 'distance' else {}
    joint = world.add_joint(
        kind,
        None,
        one,
        np.zeros(3) if kind == 'distance' else -Z,
        Z if kind == 'planar' else X,
        erp=0.2,
        cfm=1e-5,
        **more,
    )
    world.step(300)
    assert not joint.is_tree
    sag = 2.0 * G * 1e-3 * 1e-5 / 0.2
    assert one.root_link.p[2] == pytest.approx(-1.0 - sag, abs=1e-12)
    assert joint.error[0] == pytest.approx(sag, abs=1e-12)
    np.testing.assert_allclose(joint.reaction[0], 2.0 * G * Z, atol=1e-6)
    np.testing.assert_array_less(imbalance(world), 1e-9)


def ring_down(time_step, kind, tree, stiffness=2000.0, damping=10.0):
    """Release a body on a spring and a damper; return its position error after half a second."""
    world, mass = sb.World(time_step=time_step), 2.0
    one = body(world, mass=mass)
    if kind == 'hinge2':
        world.add_joint(
            kind, None, one, axis=Z, axis2=X, suspension=(stiffness, damping), tree=tree
        )
    else:
        both = time_step * stiffness + damping
        world.add_joint(kind, None, one, erp=time_step * stiffness / both, cfm=1.0 / both)
    world.step(round(0.5 / time_step))
    decay = 0.5 * damping / mass
    rate = math.sqrt(stiffness / mass - decay**2)
    swing = math.cos(0.5 * rate) + decay / rate * math.sin(0.5 * rate)
    rest = -mass * G / stiffness
    return one.root_link.p[2] - rest * (1.0 - math.exp(-0.5 * decay) * swing)


@pytest.mark.parametrize(
    ('kind', 'tree', 'order'), [('ball', None, 1), ('hinge2', False, 1), ('hinge2', True, 2)]
)
def test_springs_of_joints_ring_down_as_the_closed_form(kind, tree, order):
    """Converge to the closed form, rows at first and trees at second order of the time step."""
    coarse, fine = (ring_down(time_step, kind, tree) for time_step in (1e-3, 2.5e-4))
    assert abs(fine) < 2e-4
    assert abs(math.log(coarse / fine, 4.0) - order) < 0.15
