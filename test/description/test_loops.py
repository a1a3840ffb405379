"""Closed loops in descriptions: link poses, loop gaps, mobility."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
import robots
from shipped import path_of

from sim_bridge.description import gap, link_poses, load_description, mobility


def turned(axis, angle):
    """Return the rotation about an axis, by Rodrigues' formula."""
    cross = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross


def places(description, positions):
    """Return every link's position and rotation, following the joints up to the root."""
    parents = {joint.child: joint for joint in description.joints.values()}

    def place(link):
        if link not in parents:
            return np.zeros(3), np.eye(3)
        joint = parents[link]
        p, rotation = place(joint.parent)
        p, rotation = p + rotation @ joint.origin.position, rotation @ joint.origin.rotation
        return p, rotation @ turned(joint.axis, positions.get(joint.name, 0.0))

    return {link: place(link) for link in description.links}


def anchors(description, positions=None):
    """Return both anchors of every loop joint, as (n, 3) arrays; check that hinge axes agree."""
    at = places(description, positions or {})
    ends = []
    for one in description.constraints:
        (p1, r1), (p2, r2) = at[one.link1], at[one.link2]
        ends.append((p1 + r1 @ one.position1, p2 + r2 @ one.position2))
    return np.array([end[0] for end in ends]), np.array([end[1] for end in ends])


@pytest.mark.parametrize('name', ['four_bar', 'delta'])
def test_shipped_loops_are_closed_at_zero(name):
    """Find both anchors of every loop joint at the same place, with all joints at 0."""
    description = load_description(path_of(name))
    first, second = anchors(description)
    assert len(first) == {'four_bar': 1, 'delta': 5}[name]
    np.testing.assert_allclose(first, second, atol=1e-15)
    poses = link_poses(description)
    assert max(gap(one, poses) for one in description.constraints) < 1e-15


def test_four_bar_has_the_lengths_of_its_comment():
    """Measure the four sides between the axes; the crank rotates fully, by Grashof's criterion."""
    description = load_description(path_of('four_bar'))
    at = {link: place for link, (place, _) in places(description, {}).items()}
    (c,), _ = anchors(description)
    a, b, d = at['crank'], at['coupler'], at['rocker']
    # seen along the axes, which are parallel to y
    sides = [float(np.hypot(*(p - q)[[0, 2]])) for p, q in ((a, b), (b, c), (c, d), (d, a))]
    assert sides == pytest.approx([0.1, 0.26, 0.2, 0.24], abs=1e-15)
    assert min(sides) == sides[0]
    assert min(sides) + max(sides) < 0.5 * sum(sides)


def test_four_bar_closes_all_the_way_round():
    """Solve the triangle of coupler and rocker for every crank angle: the loop stays closed."""
    description = load_description(path_of('four_bar'))
    for crank in np.linspace(0.0, 2.0 * np.pi, 25):
        b = 0.1 * np.array([np.sin(crank), np.cos(crank)])
        reach = np.array([0.24, 0.0]) - b
        length = float(np.hypot(*reach))
        # angle at D between the line to B and the rocker, by the law of cosines
        corner = np.arccos((0.2**2 + length**2 - 0.26**2) / (2.0 * 0.2 * length))
        rocker = np.arctan2(-reach[0], -reach[1]) + corner
        c = np.array([0.24, 0.0]) + 0.2 * np.array([np.sin(rocker), np.cos(rocker)])
        coupler = np.arctan2(*(c - b)) - np.arctan2(0.24, 0.1) - crank
        first, second = anchors(
            description, {'crank_joint': crank, 'coupler_joint': coupler, 'rocker_joint': rocker}
        )
        np.testing.assert_allclose(first, second, atol=1e-14)


def test_delta_lowers_its_platform_level():
    """Close the loops at equal shoulder angles, by Pythagoras, with a level platform."""
    description = load_description(path_of('delta'))
    for shoulder in (-0.6, 0.3, 0.9):
        inward = 0.06 + 0.24 * np.cos(shoulder)
        tilt = np.arcsin(inward / 0.5)
        # relative to the tilt at zero, and relative to the upper arm
        swing = tilt - np.arctan2(0.3, 0.4) - shoulder
        positions = {f'shoulder_{k}': shoulder for k in (1, 2, 3)}
        positions |= {f'swing_{k}{s}': swing for k in (1, 2, 3) for s in 'ab'}
        # the wrist compensates the shoulder and swing rotations
        positions['wrist_pitch'] = -shoulder - swing
        first, second = anchors(description, positions)
        np.testing.assert_allclose(first, second, atol=1e-14)
        place, rotation = places(description, positions)['platform']
        drop = 0.24 * np.sin(shoulder) + 0.5 * np.cos(tilt)
        np.testing.assert_allclose(place, [0.0, 0.0, 0.9 - drop], atol=1e-14)
        np.testing.assert_allclose(rotation, np.eye(3), atol=1e-14)


@pytest.mark.parametrize(
    ('name', 'freedoms', 'constraints', 'ways'),
    [('four_bar', 3, 5, 1), ('delta', 18, 15, 3), ('arm', 7, 0, 7), ('tracked_vehicle', 0, 0, 0)],
)
def test_shipped_robots_can_move_in_so_many_ways(name, freedoms, constraints, ways):
    """Count like Grübler, and find the redundant constraints."""
    count = mobility(load_description(path_of(name)))
    assert (count.freedoms, count.constraints, count.actual) == (freedoms, constraints, ways)
    assert count.by_counting == freedoms - constraints


def test_link_poses_are_pinocchios(example_robots):
    """Compare real robots' link poses with Pinocchio's, in random configurations."""
    rng = np.random.default_rng(4)
    for name in ('panda/panda', 'talos_data/talos_full_v2'):
        description = load_description(example_robots[name])
        model = pin.buildModelFromUrdf(str(example_robots[name]))
        data, q = model.createData(), pin.neutral(model)
        positions = {}
        for joint, index in zip(model.names, model.joints, strict=True):
            if index.nq == 1:
                positions[joint] = q[index.idx_q] = rng.uniform(-2.0, 2.0)
        pin.framesForwardKinematics(model, data, q)
        poses = link_poses(description, positions)
        for frame, placed in zip(model.frames, data.oMf, strict=True):
            if frame.type == pin.FrameType.BODY and frame.name in poses:
                np.testing.assert_allclose(
                    poses[frame.name].position, placed.translation, atol=1e-12
                )
                np.testing.assert_allclose(poses[frame.name].rotation, placed.rotation, atol=1e-12)


@pytest.mark.parametrize(
    ('kind', 'freedoms'),
    [
        ('ball', 3),
        ('hinge', 1),
        ('slider', 1),
        ('universal', 2),
        ('hinge2', 2),
        ('fixed', 0),
        ('piston', 2),
        ('planar', 3),
        ('distance', 5),
    ],
)
def test_a_loop_joint_leaves_a_free_body_the_freedoms_of_its_type(kind, freedoms):
    """Attach a floating link to the ground: the freedoms left must match ODE's manual."""
    element = (
        f'<sim_bridge><joint name="l" type="{kind}"><link1 name="world" xyz="1 2 3"/>'
        '<link2 name="ball" xyz="0.1 0 0"/>'
    )
    if kind not in ('ball', 'fixed', 'distance'):
        element += '<axis xyz="0 0.6 0.8"/>'
    if kind in ('universal', 'hinge2'):
        element += '<axis2 xyz="1 0 0"/>'
    text = robots.robot(
        robots.link('world', 0.0),
        robots.link('ball'),
        robots.joint('free', 'world', 'ball', 'floating', xyz=(1, 0, 0)),
        f'{element}</joint></sim_bridge>',
    )
    ways = mobility(load_description(text))
    assert (ways.freedoms, ways.actual, ways.by_counting) == (6, freedoms, freedoms)


def test_mobility_counts_followers_with_those_they_follow():
    """Count one freedom for a parallel gripper, whose fingers follow each other."""
    inside = '<mimic joint="turn" multiplier="-1"/>'
    description = load_description(
        robots.robot(
            robots.link('world', 0.0),
            robots.link('a'),
            robots.link('b'),
            robots.joint('turn', 'world', 'a'),
            robots.joint('follow', 'world', 'b', inside=inside),
        )
    )
    assert mobility(description).actual == 1


@pytest.mark.parametrize(
    ('kind', 'offset', 'expected'),
    [
        ('ball', (0.3, 0, 0.4), 0.5),
        ('slider', (0.3, 0, 0.4), 0.3),
        ('piston', (0.3, 0, 0.4), 0.3),
        ('planar', (0.3, 0, 0.4), 0.4),
        ('distance', (0.3, 0, 0.4), 0.25),
    ],
)
def test_gap_is_that_of_the_directions_a_joint_holds(kind, offset, expected):
    """Measure a ball joint in all directions, a slider across it, a plane along its normal."""
    text = ' '.join(map(str, offset))
    more = '' if kind in ('ball', 'distance') else '<axis xyz="0 0 1"/>'
    more += '<distance value="0.25"/>' if kind == 'distance' else ''
    description = load_description(
        robots.robot(
            robots.link('world', 0.0),
            robots.link('beam'),
            robots.joint('swing', 'world', 'beam'),
            f'<sim_bridge><joint name="l" type="{kind}"><link1 name="world"/>'
            f'<link2 name="beam" xyz="{text}"/>{more}</joint></sim_bridge>',
        )
    )
    assert gap(description.constraints[0], link_poses(description)) == pytest.approx(expected)
