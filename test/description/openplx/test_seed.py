"""The three-level example from OpenPLX's page on SNAP, unchanged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sim_bridge.description.openplx.load import examine_openplx
from sim_bridge.foundation.rotation import quaternion_from_matrix

SCENE = Path(__file__).parent / 'scenes' / 'snap_parent.openplx'
OUTER, INNER = 'rod_system', 'rod_system.rod_system'
ROD = f'{INNER}.rod'
H = np.sqrt(0.5)

# model: the solved frame, its position, its quaternion x y z w; from the reference and numpy
SOLVED = {
    'SnapRod': (
        ROD,
        (1.0017519627752547, -0.3666666666666672, -0.2684186294419215),
        (-0.204124145231932, 0.761801681057137, -0.353553390593274, 0.502982635954616),
    ),
    'SnapRodParent': (
        INNER,
        (0.6350852961085878, -0.6350852961085888, -0.6350852961085887),
        (0.353553390593274, 0.761801681057137, 0.204124145231932, 0.502982635954616),
    ),
    'SnapRodParentParent': (
        OUTER,
        (1.1, 0.0, 0.0),
        (-0.353553390593274, 0.761801681057137, 0.204124145231931, 0.502982635954616),
    ),
    'World': (OUTER, (1.1, 0.0, 0.0), (0.0, H, 0.0, H)),
}


@pytest.mark.parametrize('model', SOLVED)
def test_the_example_is_solved_as_the_reference_solves_it(model):
    """Find the missing transform, and place the rod where the mate requires it."""
    scene, report = examine_openplx(SCENE, model)
    path, position, quaternion = SOLVED[model]
    solved = scene.snap.transforms[path]
    np.testing.assert_allclose(solved.position, position, rtol=0, atol=1e-12)
    found = quaternion_from_matrix(solved.rotation)
    np.testing.assert_allclose(found * np.sign(found @ quaternion), quaternion, atol=1e-12)
    if model == 'World':
        assert scene.snap.transforms[INNER].is_identity
        assert scene.snap.transforms[ROD].is_identity
    np.testing.assert_allclose(scene.poses[ROD].position, (1.1, 0.0, 0.0), atol=1e-12)
    np.testing.assert_allclose(
        scene.poses[ROD].rotation, [[0, 0, 1], [0, 1, 0], [-1, 0, 0]], atol=1e-12
    )
    assert report.ok


def test_every_renamed_name_is_warned_of_once_with_its_line():
    """Warn about each old name at its place; the example is for an older version."""
    _, report = examine_openplx(SCENE, 'SnapRod')
    assert {finding.code for finding in report.findings} == {'renamed'}
    lines = SCENE.read_text(encoding='utf-8').splitlines()
    old = ('Charges.', 'angleAxis', 'fromTo', 'charges:')
    wanted = [
        number
        for number, line in enumerate(lines, 1)
        for _ in range(sum(line.count(word) for word in old))
    ]
    assert sorted(finding.line for finding in report.findings) == wanted
