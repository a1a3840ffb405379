"""Mates that contradict given transforms: bodies begin there, and the mates then close."""

from __future__ import annotations

import json

import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.cli.main import main
from sim_bridge.description.report import SceneError

BODY = """
Part is Physics3D.Bodies.RigidBody:
    inertia.mass: 1
    shape is Physics3D.Geometries.Box:
        size: {0.1, 0.2, 0.3}
    pin is Physics3D.Interactions.MateConnector:
        position.x: -0.5
        main_axis: {0, 0, 1}
        normal: {1, 0, 0}
"""
# the mate is in line 17
SCENE = (
    BODY
    + """
Scene is Physics3D.System:
    part is Part:
        kinematics.local_transform.position: {0, 0, 0}
    base is Physics3D.Interactions.MateConnector:
        main_axis: {0, 0, 1}
        normal: {1, 0, 0}
    mate is Physics3D.Interactions.Lock:
        connectors: [base, part.pin]
"""
)
LINE = 17
BARS = """
Bar is Physics3D.Bodies.RigidBody:
    length is Real: 1
    inertia.mass: 1
    shape is Physics3D.Geometries.Box:
        size: {length, 0.05, 0.05}
    a is Physics3D.Interactions.MateConnector:
        position.x: -length / 2
        main_axis: {0, 0, 1}
        normal: {1, 0, 0}
    b is a:
        position.x: length / 2
FourBar is Physics3D.System:
    o is Physics3D.Interactions.MateConnector:
        main_axis: {0, 0, 1}
        normal: {1, 0, 0}
    p is Physics3D.Interactions.MateConnector:
        position.x: 2
        main_axis: {0, 0, 1}
        normal: {1, 0, 0}
    crank is Bar
    coupler is Bar:
        length: 2
    rocker is Bar:
        length: 0.1
    h1 is Physics3D.Interactions.Hinge:
        connectors: [o, crank.a]
        initial_angle: 1.0
    h2 is Physics3D.Interactions.Hinge:
        connectors: [crank.b, coupler.a]
    h3 is Physics3D.Interactions.Hinge:
        connectors: [coupler.b, rocker.b]
    h4 is Physics3D.Interactions.Hinge:
        connectors: [p, rocker.a]
""".replace(
    '    b is a:\n',
    '    b is Physics3D.Interactions.MateConnector:\n'
    '        main_axis: {0, 0, 1}\n        normal: {1, 0, 0}\n',
)


def loaded(text, gravity=(0.0, 0.0, -9.81)):
    """Return a world with a scene, the scene, and its findings."""
    world = sb.World(gravity=gravity)
    scene = world.load_openplx(text)
    return world, scene, scene.description.report.findings


@pytest.mark.parametrize(
    'given', ['position: {0, 0, 0}', 'position.x: 0', 'rotation: Math.Quat.from_xyzw(0, 0, 0, 1)']
)
def test_a_given_transform_is_kept_and_the_mate_closes_in_the_first_step(given):
    """The body begins at the given place; then the lock holds it at rest."""
    world, scene, findings = loaded(SCENE.replace('position: {0, 0, 0}', given))
    part, mate = scene.link('part'), scene.joint('mate')
    np.testing.assert_array_equal(part.p, (0, 0, 0))
    np.testing.assert_array_equal(part.p, scene.description.poses['part'].position)
    [finding] = findings
    assert (finding.code, finding.severity, finding.line) == ('snap-unsatisfied', 'warning', LINE)
    assert '0.5 m and 0 rad' in finding.message
    for _ in range(2):
        world.step()
        assert world.report.converged
        np.testing.assert_allclose(part.p, (0.5, 0, 0), atol=1e-12)
        np.testing.assert_allclose(part.v, 0.0, atol=1e-12)
        world.step(200)
        np.testing.assert_allclose(part.p, (0.5, 0, 0), atol=1e-9)
        assert max(mate.error) < 1e-9
        # and once more from the start
        world.reset()
        np.testing.assert_array_equal(part.p, (0, 0, 0))


def test_copies_and_snapshots_of_an_open_mate_close_alike():
    """A world saved before the first step closes in its first step."""
    world, scene, _ = loaded(SCENE)
    saved, twin = world.save(), world.copy()
    world.step(10)
    twin.step(10)
    assert twin.state_hash() == world.state_hash()
    world.restore(saved)
    np.testing.assert_array_equal(scene.link('part').p, (0, 0, 0))
    world.step(10)
    assert twin.state_hash() == world.state_hash()


def test_a_robot_with_an_open_mate_is_copied():
    """The copy begins at the robot's initial pose, and closes in its first step."""
    world, scene, _ = loaded(SCENE)
    before = world.add_copy(scene.robots[0], position=(0, 2, 0))
    world.step()
    after = world.add_copy(scene.robots[0], position=(0, 4, 0))
    for copy, y in ((before, 2), (after, 4)):
        world.step()
        np.testing.assert_allclose(copy.link('part').p, (0.5, y, 0), atol=1e-9)


def test_bodies_not_placed_by_snap_are_brought_together():
    """`enable_snap: false` far apart and rotated: heavy and light bodies move by their masses."""
    text = (
        BODY
        + """
Scene is Physics3D.System:
    one is Part:
        kinematics.local_transform.position: {0, 0, 0}
    two is Part:
        inertia.mass: 3
        kinematics.local_transform.position: {4, 0, 0}
    ball is Physics3D.Interactions.Ball:
        connectors: [one.pin, two.pin]
        enable_snap: false
"""
    )
    world, scene, _ = loaded(text, (0.0, 0.0, 0.0))
    links = scene.link('one'), scene.link('two')
    np.testing.assert_array_equal([link.p for link in links], [(0, 0, 0), (4, 0, 0)])
    world.step()
    # the least motion, weighted by the masses, keeps the centre of mass
    np.testing.assert_allclose([link.p for link in links], [(3, 0, 0), (3, 0, 0)], atol=1e-9)
    np.testing.assert_allclose(world.momentum().linear, 0.0, atol=1e-12)
    assert max(scene.joint('ball').error) < 1e-9


def test_a_hinge_with_opposite_axes_is_open():
    """Half a turn off: the axes become parallel, not opposite."""
    text = SCENE.replace('Interactions.Lock', 'Interactions.Hinge').replace(
        'position: {0, 0, 0}', 'rotation: Math.Quat.angle_axis(Math.PI, {1, 0, 0})'
    )
    world, scene, findings = loaded(text)
    assert '3.14 rad' in findings[0].message
    assert scene.joint('mate').error[1] == pytest.approx(2.0)
    world.step()
    np.testing.assert_allclose(scene.link('part').R[:, 2], (0, 0, 1), atol=1e-9)
    np.testing.assert_allclose(
        scene.link('part').R @ (-0.5, 0, 0) + scene.link('part').p, 0.0, atol=1e-9
    )
    assert scene.joint('mate').error[1] < 1e-9


def test_the_rounding_of_a_file_moves_nothing():
    """A transform with few digits is kept to the last bit, by a tree joint."""
    for kind in ('Lock', 'Hinge', 'Prismatic', 'Cylindrical', 'Ball'):
        world, scene, [finding] = loaded(
            SCENE.replace('Lock', kind).replace(
                'position: {0, 0, 0}', 'position: {0.50002, 0.00003, 0}'
            )
        )
        assert scene.joint('mate').is_tree
        assert 'rounding' in finding.message
        np.testing.assert_allclose(scene.link('part').p, (0.50002, 0.00003, 0), atol=1e-15)
        assert world.report.converged


def test_an_open_linkage_begins_with_the_poses_of_snap():
    """Begin with SNAP's poses at an open initial angle; then close and swing."""
    world, scene, [finding] = loaded(BARS, (0.0, -9.81, 0.0))
    assert (finding.code, finding.severity) == ('snap-unsatisfied', 'warning')
    for path, pose in scene.description.poses.items():
        if path in scene.description.links:
            np.testing.assert_allclose(scene.link(path).p, pose.position, atol=1e-14)
    world.step()
    assert max(max(scene.joint(name).error) for name in ('h1', 'h2', 'h3', 'h4')) < 1e-9
    energy = world.energy().total
    world.step(500)
    assert world.energy().total == pytest.approx(energy, rel=1e-3)


def test_mates_not_closed_by_any_assembly_are_a_conflict(tmp_path, capsys):
    """One error at the line of the open mate, with its gap; `check` reports it too."""
    text = (
        SCENE.replace('        kinematics.local_transform.position: {0, 0, 0}\n', '').replace(
            'part is Part:', 'part is Part'
        )
        + """
    other is Physics3D.Interactions.MateConnector:
        position.x: 9
        main_axis: {0, 0, 1}
        normal: {1, 0, 0}
    second is Physics3D.Interactions.Lock:
        connectors: [part.pin, other]
"""
    )
    path = tmp_path / 'conflict.openplx'
    path.write_text(text, encoding='utf-8')
    with pytest.raises(SceneError) as caught:
        sb.World().load_openplx(path)
    [finding] = caught.value.report.findings
    line = text.splitlines().index('    second is Physics3D.Interactions.Lock:') + 1
    assert (finding.code, finding.line) == ('snap-conflict', line)
    assert '9 m and 0 rad' in finding.message
    assert 'joint_positions' not in finding.message
    assert main(['check', str(path), '--json']) == 1
    assert json.loads(capsys.readouterr().out)['findings'][0]['line'] == line


def test_a_loop_may_begin_beyond_its_stops():
    """The stop corrects an assembled pose outside its range, as on an open chain."""
    text = (
        BARS.replace('length: 0.1', 'length: 1.5')
        + """
    range is Physics3D.Interactions.RotationalRange:
        connectors: h1.connectors
        start: 1.1
        end: 2
"""
    )
    world, scene, findings = loaded(text, (0.0, 0.0, 0.0))
    assert not findings
    assert scene.joint('h1').q == pytest.approx(1.0, abs=1e-9)
    world.step(200)
    assert scene.joint('h1').q > 1.1 - 1e-6
