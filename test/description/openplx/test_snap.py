"""SNAP without loops: the frame placed by a mate, its pose, and the trace."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from snapping import (
    at,
    coordinates,
    explicit,
    in_world,
    joined,
    mate,
    random_pose,
    swapped,
    turn,
    undone,
    worst,
    X,
    Y,
    Z,
)

from sim_bridge.description.model import Pose
from sim_bridge.description.openplx.snap import KINDS, snap, SnapError, SnapFrame, Why
from sim_bridge.foundation.rotation import matrix_from_quaternion, quaternion_from_matrix


def connector(position, main_axis, normal):
    """Return a connector's frame: z along the main axis, x along the normal."""
    binormal = np.cross(main_axis, normal)
    return Pose(np.array(position), np.column_stack([normal, binormal, main_axis]))


def from_to(start, end):
    """Return the shortest rotation between two directions."""
    start, end = start / np.linalg.norm(start), end / np.linalg.norm(end)
    return at(R=matrix_from_quaternion([*np.cross(start, end), 1.0 + start @ end]))


FIRST, SECOND = from_to(X, np.ones(3)), from_to(Y, np.ones(3))


# the reference's results for its documentation scene
@pytest.mark.parametrize(
    ('given', 'solved', 'position', 'quaternion'),
    [
        (
            (FIRST, SECOND, None),
            'a.b.rod',
            (1.0017519627752547, -0.3666666666666672, -0.2684186294419215),
            (-0.204124145231932, 0.761801681057137, -0.353553390593274, 0.502982635954616),
        ),
        (
            (FIRST, None, SECOND),
            'a.b',
            (0.6350852961085878, -0.6350852961085888, -0.6350852961085887),
            (0.353553390593274, 0.761801681057137, 0.204124145231932, 0.502982635954616),
        ),
        (
            (None, FIRST, SECOND),
            'a',
            (1.1, 0, 0),
            (-0.353553390593274, 0.761801681057137, 0.204124145231931, 0.502982635954616),
        ),
        ((None, None, None), 'a', (1.1, 0, 0), (0, np.sqrt(0.5), 0, np.sqrt(0.5))),
    ],
)
def test_rod_of_the_documentation(given, solved, position, quaternion):
    """Find one undefined transform among three; with three undefined, force the nearest two."""
    frames = [
        SnapFrame(path, parent, transform)
        for path, parent, transform in zip(
            ('a', 'a.b', 'a.b.rod'), ('', 'a', 'a.b'), given, strict=True
        )
    ]
    rod, world = connector([0, 0, -0.6], Y, Z), connector([0.5, 0, 0], Y, X)
    result = snap(frames, [mate('world_lock', 'lock', 'a.b.rod', rod, '', world)])
    found = result.transforms[solved]
    np.testing.assert_allclose(found.position, position, atol=1e-12, rtol=0)
    np.testing.assert_allclose(
        quaternion_from_matrix(found.rotation), quaternion, atol=1e-12, rtol=0
    )
    pose = in_world(frames, result)['a.b.rod']
    np.testing.assert_allclose(pose.position, [1.1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(pose.rotation, [[0, 0, 1], [0, 1, 0], [-1, 0, 0]], atol=1e-12)
    forced = [step.frames for step in result.steps if step.why is Why.FORCED]
    assert forced == ([] if any(given) else [('a.b.rod',), ('a.b',)])
    assert str(result.steps[-1]) == f'{solved}: snapped (world_lock)'
    assert not result.unsatisfied


def tree(rng, count, kinds):
    """
    Return frames and mates of a random tree, drawn forwards, and its world poses.

    Some bodies are in systems, whose transforms are given. The mates' coordinates are explicit.
    """
    frames, mates, poses = [], [], {'': at()}
    systems, bodies = [''], ['']
    for k in range(count):
        parent = systems[rng.integers(len(systems))]
        if k % 4 == 3:
            frames.append(SnapFrame(f's{k}', parent, random_pose(rng)))
            poses[f's{k}'] = joined(poses[parent], frames[-1].transform)
            systems.append(f's{k}')
            continue
        kind = kinds[rng.integers(len(kinds))]
        angle = rng.uniform(-3, 3) if kind in ('hinge', 'cylindrical') else 0.0
        shift = rng.normal() if kind in ('prismatic', 'cylindrical') else 0.0
        other = bodies[rng.integers(len(bodies))]
        first, second = random_pose(rng), random_pose(rng)
        relative = at(0, 0, shift, R=turn(Z, angle))
        poses[f'b{k}'] = joined(poses[other], first, relative, undone(second))
        one = mate(f'm{k}', kind, other, first, f'b{k}', second, angle=angle, position=shift)
        if rng.integers(2):
            one = swapped(replace(one, angle=-angle, position=-shift))
        mates.append(explicit(one))
        frames.append(SnapFrame(f'b{k}', parent))
        bodies.append(f'b{k}')
    return frames, mates, poses


@pytest.mark.parametrize('seed', range(5))
@pytest.mark.parametrize('shuffled', [False, True])
def test_random_trees_are_found_again(seed, shuffled):
    """Recover the poses of a random tree, whatever the order of its mates."""
    rng = np.random.default_rng(seed)
    frames, mates, poses = tree(rng, 60, ('lock', 'hinge', 'prismatic', 'cylindrical'))
    if shuffled:
        rng.shuffle(mates)
    result = snap(frames, mates)
    assert not result.unsatisfied
    assert list(result.transforms) == [frame.path for frame in frames]
    for path, pose in in_world(frames, result).items():
        np.testing.assert_allclose(pose.position, poses[path].position, atol=1e-11)
        np.testing.assert_allclose(pose.rotation, poses[path].rotation, atol=1e-11)
    # explicit coordinates leave no degree of freedom, so none is removed
    assert {step.why for step in result.steps} == {Why.SNAPPED}


@pytest.mark.parametrize('kind', ['hinge', 'prismatic', 'cylindrical'])
def test_swapped_connectors_negate_coordinates(kind):
    """Rotate and shift the second connector in the first; in reverse for a swapped mate."""
    angle = 0.0 if kind == 'prismatic' else 0.7
    shift = 0.0 if kind == 'hinge' else 0.3
    one = mate('m', kind, '', at(1, 2, 3), 'body', at(), angle=angle, position=shift)
    for sign, each in ((1, one), (-1, swapped(one))):
        pose = snap([SnapFrame('body')], [each]).transforms['body']
        np.testing.assert_allclose(pose.position, [1, 2, 3 + sign * shift], atol=1e-15)
        np.testing.assert_allclose(pose.rotation, turn(Z, sign * angle), atol=1e-15)


@pytest.mark.parametrize('kind', ['lock', 'planar', 'ball'])
def test_kinds_without_coordinates_make_connectors_coincide(kind):
    """Ignore angle and position for kinds without coordinates."""
    one = mate('m', kind, '', at(1), 'body', at(0, 2), angle=1.0, position=1.0, distance=1.0)
    pose = snap([SnapFrame('body')], [one]).transforms['body']
    np.testing.assert_allclose(pose.position, [1, -2, 0], atol=1e-15)
    np.testing.assert_array_equal(pose.rotation, np.eye(3))


def test_distance_is_along_the_main_axis():
    """Put a distance mate's second connector along z of the first."""
    one = mate('m', 'distance', '', at(1, R=turn(Y, np.pi / 2)), 'body', at(), distance=0.4)
    pose = snap([SnapFrame('body')], [one]).transforms['body']
    np.testing.assert_allclose(pose.position, [1.4, 0, 0], atol=1e-15)


def test_mates_wait_until_a_freedom_is_removed():
    """Place nothing relative to a movable link; remove freedoms in placing order."""
    frames = [SnapFrame(name) for name in 'abc']
    mates = [
        mate('ab', 'hinge', 'a', at(1), 'b', at()),
        mate('wa', 'hinge', '', at(), 'a', at()),
        mate('wc', 'hinge', '', at(), 'c', at()),
    ]
    result = snap(frames, mates)
    assert [str(step) for step in result.steps] == [
        'a: snapped (wa)',
        'c: snapped (wc)',
        'a: degree of freedom removed (wa)',
        'b: snapped (ab)',
        'c: degree of freedom removed (wc)',
        'b: degree of freedom removed (ab)',
    ]
    np.testing.assert_array_equal(result.transforms['b'].position, [1, 0, 0])


@pytest.mark.parametrize('order', ['ab', 'ba'])
@pytest.mark.parametrize('kind', ['lock', 'hinge'])
def test_without_a_world_the_body_defined_first_is_held(order, kind):
    """Force the frame that the file defines first, whichever connector the mate names first."""
    for one in (
        mate('m', kind, 'a', at(0, 0, 1), 'b', at(0, 0, -2)),
        mate('m', kind, 'b', at(0, 0, -2), 'a', at(0, 0, 1)),
    ):
        transforms = snap([SnapFrame(name) for name in order], [one]).transforms
        assert transforms[order[0]].is_identity
        np.testing.assert_allclose(
            transforms['b'].position - transforms['a'].position, [0, 0, 3], atol=1e-15
        )


def test_disabled_mates_are_left_out():
    """Neither place a frame by a disabled mate, nor report its misfit."""
    one = mate('m', 'lock', '', at(1), 'body', at(), enabled=False)
    result = snap([SnapFrame('body')], [one])
    assert result.transforms['body'].is_identity
    assert [str(step) for step in result.steps] == ['body: forced to identity']
    assert not result.unsatisfied


def test_reference_body_is_forced_first():
    """Put the reference body at the origin, although the mate names another one first."""
    one = mate('m', 'lock', 'a', at(1), 'b', at())
    for reference in (False, True):
        frames = [SnapFrame('a'), SnapFrame('b', is_reference=reference)]
        result = snap(frames, [one])
        assert result.transforms['b' if reference else 'a'].is_identity
        place = result.transforms['a' if reference else 'b'].position
        np.testing.assert_array_equal(place, [-1 if reference else 1, 0, 0])


def test_subsystem_is_assembled_before_it_is_placed():
    """Place a body in its system, and the system by the body, in any mate order."""
    frames = [SnapFrame('s'), SnapFrame('s.a', 's', at()), SnapFrame('s.b', 's')]
    inner = explicit(mate('i', 'hinge', 's.a', at(1), 's.b', at(), angle=0.5))
    outer = mate('o', 'lock', 's.b', at(0, 1), '', at(5))
    for mates in ([inner, outer], [outer, inner]):
        result = snap(frames, mates)
        assert worst(frames, mates, result) < 1e-15
        assert coordinates(inner, in_world(frames, result)).rotation[1, 0] == pytest.approx(
            np.sin(0.5)
        )


def test_conflict_leaves_the_first_and_reports_the_gap():
    """Satisfy the first mate; measure the other's misfit, [m] and [rad]."""
    frames = [SnapFrame('body')]
    one = mate('one', 'lock', '', at(), 'body', at())
    other = mate('other', 'lock', '', at(0.3, 0.4, R=turn(Z, 0.2)), 'body', at())
    for first, second in ((one, other), (other, one)):
        result = snap(frames, [first, second])
        ((path, gap, angle),) = result.unsatisfied
        assert path == second.path
        assert (gap, angle) == (pytest.approx(0.5, abs=1e-15), pytest.approx(0.2, abs=1e-14))
        assert str(result.steps[-1]) == f'{second.path}: not satisfied'
        np.testing.assert_array_equal(
            result.transforms['body'].position, first.first.pose.position
        )


def test_half_a_turn_apart_is_reported():
    """Distinguish opposite axes from equal ones."""
    frames = [SnapFrame('body', '', at(R=turn(X, np.pi)))]
    result = snap(frames, [mate('m', 'hinge', '', at(), 'body', at())])
    assert result.unsatisfied[0].angle == pytest.approx(np.pi)


def test_a_mate_far_away_hides_no_gap():
    """Measure a mate by its own lengths, independent of other mates."""
    frames = [SnapFrame('far'), SnapFrame('near', '', at(1e-6))]
    mates = [
        explicit(mate('far', 'prismatic', '', at(), 'far', at(), position=1e12)),
        mate('near', 'lock', '', at(), 'near', at()),
    ]
    ((path, gap, _),) = snap(frames, mates).unsatisfied
    assert (path, gap) == ('near', pytest.approx(1e-6))


@pytest.mark.parametrize('value', [np.inf, -1e308, 1e200, np.nan])
@pytest.mark.parametrize('kind', KINDS)
def test_numbers_near_overflow_are_reported(kind, value):
    """Return poses and a report for numbers of any size, without an error or a warning."""
    coordinates = {'angle': value, 'position': value, 'distance': value}
    mates = [
        mate('m', 'hinge', '', at(value), 'a', at(), angle=value),
        mate('n', kind, 'a', at(1), 'b', at(0, value), **coordinates),
        mate('o', 'ball', 'b', at(1), '', at(0, 1)),
        mate('p', kind, 'b', at(value), 'a', at(1), **coordinates),
    ]
    result = snap([SnapFrame('a'), SnapFrame('b')], mates)
    assert list(result.transforms) == ['a', 'b']
    assert result.unsatisfied


def test_not_finite_is_not_satisfied():
    """Report a mate whose connector position is not finite."""
    frames = [SnapFrame('a'), SnapFrame('b', '', at())]
    mates = [
        mate('m', 'hinge', '', at(np.nan), 'a', at()),
        mate('n', 'hinge', 'a', at(), 'b', at()),
    ]
    assert {one.mate for one in snap(frames, mates).unsatisfied} == {'m', 'n'}


@pytest.mark.parametrize(
    ('frames', 'mates', 'message'),
    [
        ([SnapFrame('a'), SnapFrame('a')], [], "'a'.*twice"),
        ([SnapFrame('a', 'b')], [], "'a': no frame has the name 'b'"),
        ([SnapFrame('a', 'b'), SnapFrame('b', 'a')], [], 'own ancestor'),
        ([], [mate('m', 'lock', 'x', at(), '', at())], "'m': no frame has the name 'x'"),
        ([], [mate('m', 'gear', '', at(), '', at())], "'gear'; the kinds are lock, hinge"),
    ],
)
def test_wrong_names_are_errors(frames, mates, message):
    """Name the wrong name."""
    with pytest.raises(SnapError, match=message):
        snap(frames, mates)


def test_long_chain_in_any_order():
    """Place a thousand links, even in the worst order, rigid to the last."""
    count = 1000
    names = ['', *(f'l{k}' for k in range(count))]
    rotation = turn([1, 2, 3], 0.3)
    mates = [
        mate(f'm{k}', 'hinge', names[k], at(1, R=rotation), names[k + 1], at())
        for k in range(count)
    ]
    frames = [SnapFrame(name) for name in names[1:]]
    for each in (mates, mates[::-1]):
        result = snap(frames, each)
        assert worst(frames, mates, result) < 1e-12
        last = result.transforms[names[-1]].rotation
        np.testing.assert_allclose(last @ last.T, np.eye(3), atol=1e-15)
        assert len(result.steps) == 2 * count
