"""URDF written from a scene's robots: the same mechanism for Pinocchio and for us."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pinocchio
import pytest
import trimesh

import sim_bridge as sb
from sim_bridge.description import find_robot
from sim_bridge.ros.publish.axes import named_axes

# all joint kinds with oblique connectors; the second one is in the tree by its second side
ARM = """
Pin is Physics3D.Interactions.MateConnector:
    position: Math.Vec3.from_xyz(0.1, -0.2, 0.3)
    main_axis: Math.Vec3.from_xyz(1, 2, -1)
    normal: Math.Vec3.from_xyz(1, 0, 1)
Part is Physics3D.Bodies.RigidBody:
    inertia:
        mass: 2.0
        tensor: Physics3D.Bodies.Inertia.symmetric_tensor({0.1, 0.2, 0.25}, 0.01, 0.02, -0.01)
    kinematics.local_cm_transform.position.x: 0.25
    tube is Physics3D.Geometries.Capsule:
        radius: 0.05
        height: 0.4
        local_transform.position.x: 0.25
    base is Pin
    tip is Pin:
        position.x: 0.7
        main_axis: Math.Vec3.from_xyz(-1, 0.5, 1)
Arm is Physics3D.System:
    wall is Pin
    a is Part
    b is Part
    c is Part
    d is Part
    e is Part
    turns is Physics3D.Interactions.Hinge:
        connectors: [wall, a.base]
    slides is Physics3D.Interactions.Prismatic:
        connectors: [b.base, a.tip]
    both is Physics3D.Interactions.Cylindrical:
        connectors: [b.tip, c.base]
    held is Physics3D.Interactions.Lock:
        connectors: [c.tip, d.base]
    bounded is Physics3D.Interactions.Hinge:
        connectors: [d.tip, e.base]
    range is Physics3D.Interactions.RotationalRange:
        connectors: bounded.connectors
        start: -0.5
        end: 0.75
"""


def scene_of(text):
    """Return a scene's only robot, and its URDF."""
    scene = sb.World().load_openplx(text)
    [robot] = scene.robots
    return robot, scene


def test_all_links_are_where_pinocchio_finds_them():
    """Compare at random joint positions, by the names in joint_states; with all masses."""
    robot, scene = scene_of(ARM)
    text = scene.urdf(robot.name)
    model = pinocchio.buildModelFromXML(text)
    data, random = model.createData(), np.random.default_rng(3)
    axes = named_axes(robot)
    assert set(model.names) - {'universe'} == set(axes)
    for _ in range(5):
        q = pinocchio.neutral(model)
        for name, axis in axes.items():
            axis.q = random.uniform(-0.5, 0.5)
            joint = model.joints[model.getJointId(name)]
            turn = [np.cos(axis.q), np.sin(axis.q)] if joint.nq == 2 else [axis.q]
            q[joint.idx_q : joint.idx_q + joint.nq] = turn
        pinocchio.framesForwardKinematics(model, data, q)
        for link in robot.links:
            place = data.oMf[model.getFrameId(link.name, pinocchio.FrameType.BODY)]
            np.testing.assert_allclose(place.translation, link.p, atol=1e-12)
            np.testing.assert_allclose(place.rotation, link.R, atol=1e-12)
    assert pinocchio.computeTotalMass(model) == pytest.approx(10.0)
    joint = ElementTree.fromstring(text).find("joint[@name='bounded']/limit")
    assert (float(joint.get('lower')), float(joint.get('upper'))) == (-0.5, 0.75)


def test_we_read_the_same_mechanism():
    """Compare the excavator's tree, masses and shapes, with its loops open."""
    robot, scene = scene_of(find_robot('excavator').read_text())
    text = scene.urdf(robot.name)
    assert 'boom_cylinder_head' in text.partition('joints that close loops')[2]
    other = sb.World().load_urdf(text)
    assert other.joint_names == robot.joint_names
    assert other.mass == pytest.approx(robot.mass, rel=1e-12)
    for name in robot.joint_names:
        other.joint(name).q = robot.joint(name).q
    for link in robot.links:
        np.testing.assert_allclose(other.link(link.name).p, link.p, atol=1e-12)
        np.testing.assert_allclose(other.link(link.name).R, link.R, atol=1e-12)
    # cylinders without collision are drawn
    drawn = ElementTree.fromstring(text).find("link[@name='boom_cylinder_rod']")
    assert drawn.find('visual/geometry/cylinder') is not None
    assert drawn.find('collision') is None


def test_triangles_are_written_to_files(tmp_path):
    """Write a mesh without file once; leave it out with a comment if there is no folder."""
    text = """
Wedge is Physics3D.Bodies.RigidBody:
    inertia.mass: 1.0
    at is Physics3D.Interactions.MateConnector
    shape is Physics3D.Geometries.ConvexMesh:
        vertices: [{0,0,0}, {1,0,0}, {0,1,0}, {0,0,2}]
Scene is Physics3D.System:
    wedge is Wedge
    pin is Physics3D.Interactions.MateConnector
    lock is Physics3D.Interactions.Lock:
        connectors: [pin, wedge.at]
"""
    robot, scene = scene_of(text)
    for _ in range(2):
        root = ElementTree.fromstring(scene.urdf(robot.name, tmp_path))
    uri = root.find('link/visual/geometry/mesh').get('filename')
    [path] = tmp_path.iterdir()
    assert uri == path.as_uri()
    mesh = trimesh.load(path)
    assert mesh.volume == pytest.approx(1 / 3)
    assert Path(uri.removeprefix('file://')).is_file()
    assert '<!-- visual left out: <ConvexHull' in scene.urdf(robot.name)
