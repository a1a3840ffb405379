"""Contact listeners: their events, contact removal, and failing listeners."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import sim_bridge as sb


def ball(world, mass=1.0, x=0.0, height=1.0, **options):
    """Add a ball of radius 0.1."""
    return world.add_body(sb.Sphere(0.1), mass=mass, position=(x, 0.0, height), **options)


def remove_heavy(event):
    """Remove contacts of bodies above 10 kg, as AGX's listener example does."""
    return 'remove' if event.link_a.m > 10.0 else 'keep'


def keep_all(event):
    """Keep all contacts."""


def noted(into):
    """Return a listener that appends events to a list."""
    return lambda event: into.append((event.kind, round(event.time / 1e-3)))


@pytest.mark.parametrize('events', [('impact',), ('impact', 'contact', 'separation')])
def test_contacts_of_heavy_bodies_are_removed(events):
    """Let an 11 kg ball fall by ½ g t² through the ground; a 9 kg ball rests on it."""
    world = sb.World()
    ground = world.add_ground()
    heavy, light = ball(world, 11.0), ball(world, 9.0, 2.0)
    for each in (heavy, light):
        world.on_contact(remove_heavy, each, ground, events=events)
    world.step(1000)
    assert heavy.root_link.p[2] == pytest.approx(1.0 - 0.5 * 9.81, abs=1e-9)
    assert light.root_link.p[2] == pytest.approx(0.1, abs=1e-6)
    assert {contact.link_a.robot.name for contact in world.contacts} == {'body_2'} or {
        contact.link_b.robot.name for contact in world.contacts
    } == {'body_2'}


def test_impact_contact_and_separation_come_in_their_order():
    """Report one impact, contact in each step, and one separation, as it bounces."""
    world = sb.World()
    ground = world.add_ground()
    world.materials.add(sb.Material('rubber', restitution=1.0))
    body = ball(world, height=0.11, material='rubber')
    world.set_contact_material('rubber', 'default', sb.ContactMaterial(restitution=0.9))
    heard, touching, before = [], [], False
    world.on_contact(noted(heard), body, ground)
    for _ in range(300):
        world.step()
        touches = world.contact_count > 0
        if touches or before:
            touching.append(('contact' if before else 'impact') if touches else 'separation')
        before = touches
    assert [kind for kind, _ in heard] == touching
    assert touching.count('impact') >= 2 and touching.count('separation') >= 1


def test_events_name_geometries_points_and_normals():
    """Order geometries as in the listener, point normals towards the first, and pass depths."""
    world = sb.World()
    ground, body = world.add_ground(), ball(world, height=0.0999)
    seen = []
    world.on_contact(seen.append, body, ground)
    world.on_contact(seen.append, ground, body.geometries[0])
    world.step()
    for event, (a, b), up in zip(seen, [(body, ground), (ground, body)], (1.0, -1.0), strict=True):
        assert event.kind == 'impact' and event.time == pytest.approx(1e-3)
        assert (event.link_a, event.link_b) == (a.root_link, b.root_link)
        np.testing.assert_allclose(event.normals, [[0.0, 0.0, up]], atol=1e-12)
        assert event.depths == pytest.approx([1e-4], rel=0.1)
        assert event.positions[0] == pytest.approx((0.0, 0.0, 0.0), abs=1e-3)
        assert 'impact of' in repr(event)


def test_single_points_can_be_removed():
    """Let a box tip over the remaining edge after the points on one side are removed."""
    world = sb.World()
    ground = world.add_ground()
    box = world.add_body(sb.Box((0.4, 0.4, 0.2)), mass=1.0, position=(0.0, 0.0, 0.1))
    world.on_contact(lambda event: event.positions[:, 0] > 0.0, box, ground)
    world.step(50)
    assert box.root_link.w[1] < -0.5
    assert world.contact_count == 2


def test_only_the_chosen_pairs_and_groups_are_heard_of():
    """Choose by robot, link, geometry and group, on both sides."""
    world = sb.World()
    ground = world.add_ground()
    one, other = ball(world, height=0.1), ball(world, x=1.0, height=0.1)
    other.geometries[0].groups = {'marked'}
    counts = dict.fromkeys(('robot', 'link', 'geometry', 'group', 'pair', 'none', 'all'), 0)

    def count(name):
        def hear(event):
            counts[name] += 1

        return hear

    world.on_contact(count('robot'), one)
    world.on_contact(count('link'), one.root_link, ground.root_link)
    world.on_contact(count('geometry'), None, one.geometries[0])
    world.on_contact(count('group'), 'marked')
    world.on_contact(count('pair'), 'marked', ground)
    world.on_contact(count('none'), one, other)
    world.on_contact(count('all'))
    world.step()
    assert counts == {
        'robot': 1,
        'link': 1,
        'geometry': 1,
        'group': 1,
        'pair': 1,
        'none': 0,
        'all': 2,
    }
    other.geometries[0].groups = set()
    world.step()
    assert counts['group'] == 1 and counts['all'] == 4
    world.remove(one)
    assert len(world.contact_listeners) == 3
    world.step()
    assert counts['all'] == 5


def test_a_listener_without_effect_keeps_the_bits():
    """Step to the same state with and without listeners that keep all contacts."""
    hashes = []
    for events in ((), ('impact',), ('impact', 'contact', 'separation')):
        world = sb.World()
        world.add_ground()
        for k in range(4):
            ball(world, height=0.15 + 0.21 * k, x=0.01 * k)
        if events:
            world.on_contact(keep_all, events=events)
        world.step(300)
        hashes.append(world.state_hash())
    assert len(set(hashes)) == 1


def test_listeners_go_with_copies_and_pickles_and_end_when_removed():
    """Remove the same contacts in a copy and a pickle, and none after `remove`."""
    world = sb.World()
    ground, heavy = world.add_ground(), ball(world, 11.0, height=0.2)
    listener = world.on_contact(remove_heavy, heavy.geometries[0], ground)
    twins = [world.copy(), pickle.loads(pickle.dumps(world))]
    listener.remove()
    listener.remove()
    assert world.contact_listeners == ()
    for each in (world, *twins):
        each.step(500)
    assert heavy.root_link.p[2] == pytest.approx(0.1, abs=1e-6)
    for twin in twins:
        assert twin.robots['body'].root_link.p[2] == pytest.approx(0.2 - 0.5 * 9.81 * 0.25)
    other = ball(world, x=3.0)
    world.on_contact(lambda event: None, other)
    with pytest.raises(sb.StateError, match='on_contact'):
        pickle.dumps(world)


def test_a_failing_listener_leaves_the_world_unchanged():
    """Raise a listener's exception, and refuse forbidden calls, before the step."""
    world = sb.World()
    world.add_ground()
    body = ball(world, height=0.1)
    body.root_link.add_force((1.0, 0.0, 0.0))
    before = world.state_hash()

    def fails(event):
        raise LookupError('gone')

    for wrong, error, text in (
        (fails, LookupError, 'gone'),
        (lambda event: True, sb.InvalidValueError, "'keep', 'remove', or 1 truth values"),
        (lambda event: [True, False], sb.InvalidValueError, 'answer'),
        (lambda event: 'drop', sb.InvalidValueError, 'answer = .drop.'),
        (lambda event: world.step(), sb.StateError, 'middle of a step'),
        (lambda event: world.reset(), sb.StateError, 'middle of a step'),
        (lambda event: world.remove(body), sb.StateError, 'middle of a step'),
        (lambda event: body.root_link.add_force((1, 0, 0)), sb.StateError, 'middle'),
        (lambda event: world.add_force_field(sb.UniformField()), sb.StateError, 'middle'),
    ):
        listener = world.on_contact(wrong)
        with pytest.raises(error, match=text):
            world.step(3)
        assert world.state_hash() == before and world.step_count == 0
        listener.remove()
    assert list(world.robots) == ['ground', 'body'] and not world.force_fields
    world.step()
    assert body.root_link.v[0] > 0.0


def test_listeners_may_remove_themselves():
    """Report only one impact to a listener, and go on with the other listener."""
    world = sb.World()
    world.add_ground()
    ball(world, height=0.1), ball(world, height=0.1, x=1.0)
    heard = []

    def once(event):
        heard.append('once')
        listener.remove()

    listener = world.on_contact(once)
    world.on_contact(lambda event: heard.append('other'))
    world.step(2)
    assert heard == ['once', 'other', 'other', 'other', 'other']


def test_listeners_may_look_at_the_world():
    """Read body poses at the step's start, without changing the step."""
    world = sb.World()
    world.add_ground()
    body = ball(world, height=0.1005)
    heights = []
    world.on_contact(lambda event: heights.append(body.root_link.p[2]))
    twin = sb.World()
    twin.add_ground()
    ball(twin, height=0.1005)
    for _ in range(20):
        start = body.root_link.p[2]
        world.step(), twin.step()
        assert not heights or heights.pop() == start
    assert world.state_hash() == twin.state_hash()


def test_wrong_listeners_are_refused():
    """Name the value and the alternatives."""
    world, other = sb.World(), sb.World()
    stranger = ball(other)
    for arguments, text in (
        (('text',), 'a function of a ContactEvent'),
        ((keep_all, stranger), 'of this world'),
        ((keep_all, 3), 'of this world'),
        ((keep_all, None, ''), 'collision group'),
    ):
        with pytest.raises(sb.InvalidValueError, match=text):
            world.on_contact(*arguments)
    for events in ((), ('begin',), 3):
        with pytest.raises(sb.InvalidValueError, match='impact'):
            world.on_contact(keep_all, events=events)
    assert world.contact_listeners == ()
