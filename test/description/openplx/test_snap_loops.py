"""SNAP with loops: closed with the least motion if possible, else reported."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from snapping import (
    at,
    coordinates,
    four_bar,
    in_world,
    joined,
    mate,
    miss,
    random_pose,
    ring,
    turn,
    undone,
    worst,
    X,
    Y,
    Z,
)

from sim_bridge.description.openplx.snap import snap, SnapFrame, Why

CRANK_ROCKER = (0.1, 0.26, 0.2, 0.24)


def heading(pose):
    """Return a pose's angle in the xy plane."""
    return np.arctan2(pose.rotation[1, 0], pose.rotation[0, 0])


@pytest.mark.parametrize('crank', np.linspace(-3.0, 3.0, 13))
def test_four_bar_by_freudenstein(crank):
    """Close a four-bar linkage at a given crank angle: Freudenstein's equation for the rocker."""
    a, b, c, d = CRANK_ROCKER
    frames, mates = four_bar(CRANK_ROCKER, angle=crank, explicit_angle=True)
    result = snap(frames, mates)
    assert not result.unsatisfied
    assert worst(frames, mates, result) < 1e-12
    assert heading(result.transforms['crank']) == pytest.approx(crank, abs=1e-15)
    # Freudenstein 1955, the angles from the ground towards D
    rocker = heading(result.transforms['rocker'])
    k1, k2, k3 = d / a, d / c, (a * a - b * b + c * c + d * d) / (2 * a * c)
    assert k1 * np.cos(rocker) - k2 * np.cos(crank) + k3 == pytest.approx(
        np.cos(crank - rocker), abs=1e-11
    )
    # both bars meet where the two circles about their ground pivots intersect
    joint = np.array([d, 0, 0]) + c * np.array([np.cos(rocker), np.sin(rocker), 0])
    end = a * np.array([np.cos(crank), np.sin(crank), 0])
    assert np.linalg.norm(joint - end) == pytest.approx(b, abs=1e-12)


@pytest.mark.parametrize('order', itertools.permutations(range(4)))
def test_four_bar_closes_in_any_order_of_definition(order):
    """Close it in any mate order, at one of two poses: A or D is fixed first."""
    frames, mates = four_bar(CRANK_ROCKER)
    result = snap(frames, [mates[k] for k in order])
    assert not result.unsatisfied
    assert worst(frames, mates, result) < 1e-12
    first_on_ground = next('AD'[k == 3] for k in order if k in (0, 3))
    crank = heading(result.transforms['crank'])
    assert (crank == 0.0) == (first_on_ground == 'A')
    closing = [step for step in result.steps if step.why in (Why.ROTATED, Why.CLOSED)]
    assert len(closing) == 1


@pytest.mark.parametrize(
    'lengths',
    [(1, 1, 1, 1), (1, 2, 1, 2), (1, 1, 1, 3), (1, 3, 1, 1), (3, 1, 1, 1), (1, 1, 1, 1e-9)],
    ids=str,
)
def test_dead_centres_are_closed(lengths):
    """Close linkages that start folded or stretched, where no first-order motion closes them."""
    frames, mates = four_bar(lengths)
    result = snap(frames, mates)
    assert not result.unsatisfied
    assert worst(frames, mates, result) < 1e-9


def test_loop_out_of_reach_is_reported():
    """Leave a linkage with a too long ground link open, and all other mates unchanged."""
    frames, mates = four_bar((1, 1, 1, 3.2), angle=0.5, explicit_angle=True)
    result = snap(frames, mates)
    ((path, gap, angle),) = result.unsatisfied
    poses = in_world(frames, result)
    assert path == 'C'
    assert gap == pytest.approx(miss(mates[2], poses), abs=1e-15)
    assert gap > 0.2
    assert angle == 0.0
    assert max(miss(one, poses) for one in mates if one.path != 'C') < 1e-15
    assert heading(result.transforms['crank']) == pytest.approx(0.5)


@pytest.mark.parametrize('crank', [-2.0, -0.5, 0.3, 1.0, 2.5])
def test_slider_crank_by_closed_form(crank):
    """Rotate the rod and shift the piston until they meet: x = r cos q + √(l² − r² sin² q)."""
    r, length = 0.5, 1.3
    rail = turn(Y, np.pi / 2)
    frames = [SnapFrame(name) for name in ('crank', 'rod', 'piston')]
    mates = [
        mate('main', 'hinge', '', at(), 'crank', at(), angle=crank, explicit_angle=True),
        # the rod points along the rail initially: of two poses the one in front is nearer
        mate('pin', 'hinge', 'crank', at(r), 'rod', at(), angle=-crank),
        mate('rail', 'prismatic', '', at(R=rail), 'piston', at(R=rail), position=1.0),
        mate('wrist', 'hinge', 'rod', at(length), 'piston', at()),
    ]
    result = snap(frames, mates)
    assert worst(frames, mates, result) < 1e-12
    x = r * np.cos(crank) + np.sqrt(length**2 - (r * np.sin(crank)) ** 2)
    np.testing.assert_allclose(result.transforms['piston'].position, [x, 0, 0], atol=1e-12)
    (closing,) = (step for step in result.steps if step.mate == 'wrist')
    assert closing.why is Why.MOVED
    assert set(closing.frames) == {'rod', 'piston'}


def test_one_frame_is_rotated():
    """Rotate a lid about its hinge until a second mate holds, even by half a turn."""
    for angle in (0.3, -2.0, np.pi):
        mates = [
            mate('hinge', 'hinge', '', at(), 'lid', at()),
            mate('latch', 'ball', '', at(np.cos(angle), np.sin(angle)), 'lid', at(1)),
        ]
        result = snap([SnapFrame('lid')], mates)
        pose = result.transforms['lid']
        np.testing.assert_allclose(pose.rotation, turn(Z, angle), atol=1e-12)
        assert str(result.steps[-1]) == 'lid: rotated (latch)'


def test_one_frame_is_shifted():
    """Shift a drawer along its rail until a second mate holds."""
    mates = [
        mate('rail', 'prismatic', '', at(), 'drawer', at()),
        mate('stop', 'planar', '', at(0, 0, 0.7), 'drawer', at()),
    ]
    result = snap([SnapFrame('drawer')], mates)
    np.testing.assert_allclose(result.transforms['drawer'].position, [0, 0, 0.7], atol=1e-15)
    assert str(result.steps[-1]) == 'drawer: shifted (stop)'


def test_of_many_poses_one_moves_the_first_frame_alone():
    """Lock two discs on an axis by rotating one, not both by half the angle."""
    frames = [SnapFrame('one'), SnapFrame('two')]
    mates = [
        mate('h1', 'hinge', '', at(), 'one', at()),
        mate('h2', 'hinge', '', at(), 'two', at()),
        mate('lock', 'lock', 'one', at(R=turn(Z, 0.4)), 'two', at()),
    ]
    result = snap(frames, mates)
    assert result.transforms['two'].is_identity
    np.testing.assert_allclose(result.transforms['one'].rotation, turn(Z, -0.4), atol=1e-12)


def test_redundant_hinge_leaves_the_freedom():
    """Satisfy a door's second hinge without motion; a third mate still rotates the door."""
    mates = [
        mate('lower', 'hinge', '', at(), 'door', at()),
        mate('upper', 'hinge', '', at(0, 0, 2), 'door', at(0, 0, 2)),
        mate('latch', 'ball', '', at(0, 1, 1), 'door', at(1, 0, 1)),
    ]
    result = snap([SnapFrame('door')], mates)
    assert [step.why for step in result.steps] == [Why.SNAPPED, Why.SATISFIED, Why.ROTATED]
    np.testing.assert_allclose(result.transforms['door'].rotation, turn(Z, np.pi / 2), atol=1e-12)


def test_rod_between_two_balls():
    """Rotate a rod on a ball towards another, and let a third mate use the remaining rotation."""
    target = np.array([1.0, 2.0, 2.0]) / 3.0
    mates = [
        mate('one', 'ball', '', at(), 'rod', at()),
        mate('two', 'ball', '', at(*target), 'rod', at(1)),
        mate('three', 'distance', '', at(*np.cross(target, Z)), 'rod', at(0, 1), distance=1.0),
    ]
    result = snap([SnapFrame('rod')], mates)
    assert not result.unsatisfied
    np.testing.assert_allclose(result.transforms['rod'].rotation @ X, target, atol=1e-12)


def test_closing_mate_at_its_explicit_angle():
    """Reach the closing mate's explicit angle if possible, else close at another."""
    frames, mates = four_bar(CRANK_ROCKER, angle=0.7, explicit_angle=True)
    poses = in_world(frames, snap(frames, mates))
    angle = heading(coordinates(mates[2], poses))
    for wanted, missed in ((angle, 0.0), (angle + 0.1, 0.1)):
        frames, mates = four_bar(CRANK_ROCKER, angle=0.7, explicit_angle=True)
        mates[2] = mate(
            'C',
            'hinge',
            'coupler',
            mates[2].first.pose,
            'rocker',
            mates[2].second.pose,
            angle=wanted,
            explicit_angle=True,
        )
        result = snap(frames, mates)
        assert worst(frames, mates, result) < 1e-11
        if missed:
            ((path, gap, rest),) = result.unsatisfied
            assert (path, gap) == ('C', pytest.approx(0.0, abs=1e-11))
            assert rest == pytest.approx(missed, abs=1e-9)
        else:
            assert not result.unsatisfied


@pytest.mark.parametrize('count', [7, 9, 12])
@pytest.mark.parametrize('seed', range(6))
def test_random_rings_are_closed(count, seed):
    """Close rings of hinges in space, drawn closed and started with wrong angles."""
    rng = np.random.default_rng([seed, count])
    frames, mates, _ = ring(rng, count, 0.3)
    result = snap(frames, mates)
    assert not result.unsatisfied
    assert worst(frames, mates, result) < 1e-10


@pytest.mark.parametrize('seed', range(4))
def test_rings_at_their_angles_stay(seed):
    """Leave a ring unchanged that is closed at its initial angles."""
    frames, mates, poses = ring(np.random.default_rng(seed), 8, 0.0)
    result = snap(frames, mates)
    for path, pose in in_world(frames, result).items():
        np.testing.assert_allclose(pose.position, poses[path].position, atol=1e-12)
        np.testing.assert_allclose(pose.rotation, poses[path].rotation, atol=1e-12)


@pytest.mark.parametrize(
    'kind', ['lock', 'hinge', 'prismatic', 'cylindrical', 'planar', 'ball', 'distance']
)
def test_every_kind_closes_a_loop(kind):
    """Close an arm with seven hinges by each mate kind, at a pose within its reach."""
    rng = np.random.default_rng(7)
    frames, mates, poses = ring(rng, 8, 0.2)
    hinge = mates.pop()
    relative = {
        'prismatic': at(0, 0, 0.3),
        'cylindrical': at(0, 0, 0.3, R=turn(Z, 1.0)),
        'planar': at(0.3, 0.1, 0, R=turn(Z, 1.0)),
        'ball': at(R=turn([1, 2, 3], 1.0)),
        'distance': at(0.3, 0.4, 0.5, R=turn([1, 2, 3], 1.0)),
    }.get(kind, at())
    first = hinge.first.pose
    second = joined(undone(poses['']), poses[hinge.first.frame], first, relative)
    closing = mate('closing', kind, hinge.first.frame, first, '', second, distance=np.sqrt(0.5))
    result = snap(frames, [*mates, closing])
    assert not result.unsatisfied
    assert worst(frames, [*mates, closing], result) < 1e-10


def platform():
    """Return a Stewart platform's frames and mates, with six legs too short initially."""
    frames, mates = [SnapFrame('top', '', at(0.1, 0.05, 1, R=turn([1, 2, 3], 0.2)))], []
    for k in range(6):
        below = at(np.cos(k * np.pi / 3), np.sin(k * np.pi / 3), 0)
        above = at(0.6 * np.cos(k * np.pi / 3 + 0.4), 0.6 * np.sin(k * np.pi / 3 + 0.4), 0)
        frames += [SnapFrame(f'barrel{k}'), SnapFrame(f'piston{k}')]
        mates += [
            mate(f'foot{k}', 'ball', '', below, f'barrel{k}', at()),
            mate(f'leg{k}', 'prismatic', f'barrel{k}', at(), f'piston{k}', at(), position=0.5),
            mate(f'head{k}', 'ball', 'top', above, f'piston{k}', at()),
        ]
    return frames, mates


def test_legs_reach_a_platform():
    """Rotate and extend six legs to a fixed platform."""
    frames, mates = platform()
    result = snap(frames, mates)
    assert not result.unsatisfied
    assert worst(frames, mates, result) < 1e-10
    # a leg's length is the distance between its ends
    poses = in_world(frames, result)
    for foot, leg, head in zip(mates[0::3], mates[1::3], mates[2::3], strict=True):
        end = joined(poses['top'], head.first.pose).position
        apart = np.linalg.norm(end - foot.first.pose.position)
        assert abs(coordinates(leg, poses).position[2]) == pytest.approx(apart, abs=1e-10)


def test_free_platform_on_six_rods():
    """Assemble a platform held only by rods with given lengths."""
    place = at(0.1, 0.05, 0.9, R=turn([1, 2, 3], 0.1))
    mates = []
    for k in range(6):
        angle, offset = k * np.pi / 3, 0.4 * (-1) ** k
        below = at(np.cos(angle), np.sin(angle))
        above = at(0.6 * np.cos(angle + offset), 0.6 * np.sin(angle + offset))
        length = np.linalg.norm(joined(place, above).position - below.position)
        mates.append(mate(f'rod{k}', 'distance', '', below, 'top', above, distance=length))
    frames = [SnapFrame('top')]
    result = snap(frames, mates)
    assert not result.unsatisfied
    assert worst(frames, mates, result) < 1e-10


def test_a_chain_attached_to_a_loop_keeps_its_coordinates():
    """Carry along a chain attached to a moved link, without changing its coordinates."""
    frames, mates = four_bar(CRANK_ROCKER)
    order = [mates[k] for k in (3, 2, 1, 0)]
    chain = [
        mate('h1', 'hinge', 'coupler', at(0, 0.1), 't1', at(), angle=0.4),
        mate('h2', 'prismatic', 't1', at(0.1, R=turn(X, 1)), 't2', at(), position=0.2),
    ]
    frames += [SnapFrame('t1'), SnapFrame('t2')]
    result = snap(frames, [*order, *chain])
    assert not result.unsatisfied
    assert Why.CLOSED in {step.why for step in result.steps}
    poses = in_world(frames, result)
    np.testing.assert_allclose(coordinates(chain[0], poses).rotation, turn(Z, 0.4), atol=1e-13)
    np.testing.assert_allclose(coordinates(chain[1], poses).position, [0, 0, 0.2], atol=1e-13)


def test_loop_inside_a_system():
    """Close a loop within a system placed by a mate, and keep the system's own pose."""
    frames, mates = four_bar(CRANK_ROCKER)
    frames = [SnapFrame('s'), SnapFrame('base', 's'), *(SnapFrame(f.path, 's') for f in frames)]
    mates = [
        mate(m.path, m.kind, m.first.frame or 'base', m.first.pose, m.second.frame, m.second.pose)
        for m in mates
    ]
    place = random_pose(np.random.default_rng(1))
    mates.append(mate('ground', 'lock', '', place, 'base', at()))
    for order in (mates, mates[::-1]):
        result = snap(frames, order)
        assert not result.unsatisfied
        assert worst(frames, mates, result) < 1e-12


def test_many_loops_in_a_row():
    """Close a truss with a hundred rhombs in a row, folded flat initially."""
    frames, mates, last = [], [], ''
    for k in range(100):
        names = [f'{part}{k}' for part in ('left', 'right', 'top')]
        frames += [SnapFrame(name) for name in names]
        foot = at(1) if last else at()
        mates += [
            mate(f'a{k}', 'hinge', last, foot, names[0], at(), angle=0.3),
            mate(f'b{k}', 'hinge', last, joined(foot, at(0.5)), names[1], at(), angle=0.2),
            mate(f'c{k}', 'hinge', names[0], at(1), names[2], at(), angle=-0.2),
            mate(f'd{k}', 'hinge', names[1], at(1), names[2], at(0.5)),
        ]
        last = names[2]
    result = snap(frames, mates)
    assert not result.unsatisfied
    assert worst(frames, mates, result) < 1e-10


def test_conflicts_do_not_keep_other_loops_open():
    """Close the remaining loops in a linkage when one mate cannot hold."""
    frames, mates = four_bar(CRANK_ROCKER)
    wrong = mate('wrong', 'ball', '', at(5), 'crank', at(0.05))
    for order in ([*mates, wrong], [mates[0], wrong, *mates[1:]]):
        result = snap(frames, order)
        assert [one.mate for one in result.unsatisfied] == ['wrong']
        assert worst(frames, mates, result) < 1e-11


def test_results_repeat_to_the_bit():
    """Find the same bits again."""
    frames, mates, _ = ring(np.random.default_rng(3), 9, 0.4)
    one, other = snap(frames, mates), snap(frames, mates)
    assert one.steps == other.steps
    for path, pose in one.transforms.items():
        np.testing.assert_array_equal(pose.position, other.transforms[path].position)
        np.testing.assert_array_equal(pose.rotation, other.transforms[path].rotation)


def test_lengths_need_not_be_near_one():
    """Close the same linkage in millimetres and in kilometres, at the same angles."""
    angles = []
    for scale in (1e-3, 1.0, 1e3):
        frames, mates = four_bar([scale * length for length in CRANK_ROCKER])
        result = snap(frames, mates)
        assert worst(frames, mates, result) < 1e-12 * max(1.0, scale)
        angles.append([heading(pose) for pose in result.transforms.values()])
    np.testing.assert_allclose(angles[0], angles[1], atol=1e-9)
    np.testing.assert_allclose(angles[2], angles[1], atol=1e-9)
