"""Arguments of wrong types are refused by messages that name them."""

from __future__ import annotations

import numpy as np
import pytest
from shipped import path_of

import sim_bridge as sb
from sim_bridge import dynamics

_ARM = sb.World().load_urdf(path_of('arm'), collisions='none')
_HINGE = _ARM.world.add_joint('hinge', None, _ARM.links[-1], (0, 0, 0), (0, 0, 1), tree=False)
_SCENE = sb.World().load_openplx('Ball is Physics3D.Bodies.RigidBody:\n    inertia.mass: 1\n')
_TRAJECTORY = sb.Trajectory(['joint_1'], [1.0], [[0.1]])


@pytest.mark.parametrize(
    ('call', 'said'),
    [
        (lambda: _ARM.devices()[0].standard_deviations('x'), "unknown quantity 'x'"),
        (lambda: _ARM.devices()[0].standard_deviations([]), r'name of a quantity = \[\]'),
        (lambda: dynamics.mass_matrix('x'), "robot = 'x': expected a robot"),
        (lambda: dynamics.inverse_dynamics_derivatives('x', [0]), "robot = 'x': expected a robot"),
        (lambda: dynamics.jacobian(_ARM, {}), "link = {}: expected a link of robot 'arm'"),
        (
            lambda: _ARM.command_effort([0.0], 5.0),
            r"joints = 5.0 \(robot 'arm'\): expected joint names",
        ),
        (
            lambda: _ARM.command_effort([0.0], np.array(1.0)),
            r'joints = array\(1.\) .*expected joint names',
        ),
        (lambda: sb.World().add_body(np.array(1.0)), r'shapes = array\(1.\): expected a shape'),
        (lambda: _ARM.joint([]), r"name of a joint = \[\] \(robot 'arm'\)"),
        (lambda: _ARM.world.materials.get([]), r'name of a material = \[\]'),
        (lambda: _ARM.world.materials[10**5000], 'name of a material = <integer of'),
        (lambda: _ARM.link(10**5000), 'unknown link <integer of'),
        (lambda: _ARM.joint(-(10**5000)), 'unknown joint <integer of'),
        (lambda: _ARM.extra_joint(10**5000), 'unknown extra joint <integer of'),
        (lambda: _ARM.link(np.int64(-1)), 'unknown link -1 in'),
        (lambda: sb.ContactMaterial(friction_model={}), "friction_model = {} .*'cone', 'pyramid'"),
        (lambda: sb.TriangleMesh(np.eye(3), [[0], [0, 1]]), 'triangles = .*integers from 0 to 2'),
        (lambda: sb.TriangleMesh.from_file(5), 'mesh file = 5: expected a path'),
        (lambda: sb.load_description('pendulum', package_paths=5), 'package_paths = 5'),
        (lambda: _ARM.world.contacts.force_on('x'), "body = 'x': expected a robot, link or geom"),
        (
            lambda: _ARM.world.contacts.force_on(None),
            'body = None: expected a robot, link or geom',
        ),
        (
            lambda: _ARM.world.contacts.force_on(_ARM, 3),
            'by = 3: expected a robot, link or geometry',
        ),
        (lambda: sb.World().contacts.force_on(_ARM), 'body = .*arm.*of this world'),
        (
            lambda: sb.World().load_urdf(path_of('arm'), collisions=np.zeros(3)),
            'collisions = array',
        ),
        (lambda: sb.World().load_openplx(None), 'path_or_text = None'),
        (lambda: sb.World().load_openplx(path_of('arm'), 3), 'model = 3'),
        (lambda: _SCENE.joint([0]), r'path = \[0\] .*mate path'),
        (lambda: _SCENE.axis(np.eye(2)), 'interaction path'),
        (lambda: _SCENE.link(None), 'body path'),
        (lambda: _SCENE.restart(np.zeros(2)), 'name of a robot'),
        (lambda: _SCENE.place(3), 'a Pose'),
        (lambda: sb.World().add_body(sb.Sphere(1), motion=np.zeros(3)), 'motion = array'),
        (lambda: sb.TrajectoryFollower('x'), "robot = 'x' .*: expected a robot of a world"),
        (lambda: sb.TrajectoryFollower(_ARM, 'x'), "joints = 'x' .*: expected joint names"),
        (lambda: sb.TrajectoryFollower(_ARM, gains={'joint_1': 5}), "gains = 5 .*joint 'joint_1'"),
        (lambda: sb.TrajectoryFollower(_ARM).start('x', 0), "trajectory = 'x': expected a Traj"),
        (
            lambda: sb.TrajectoryFollower(_ARM).start(_TRAJECTORY, 0.5),
            'time_ns = 0.5: expected an',
        ),
        (
            lambda: sb.TrajectoryFollower(_ARM).cancel(5),
            'run = 5: expected a Run returned by `start`',
        ),
        (lambda: sb.Gains(p='x'), r"p = 'x' \(gains\): expected a finite number"),
        (
            lambda: setattr(_HINGE, 'erp', [[0.1], [0.1, 0.2], 0, 0, 0]),
            r'erp = \[0.1, 0.2\] .*0 to 1',
        ),
        (lambda: setattr(_HINGE, 'cfm', 'soft'), "cfm = 'soft' .*finite number"),
        (
            lambda: sb.laws.pd(_ARM, [[0.0] * 7, [0.0]], stiffness=1.0, damping=1.0),
            'q_ref = .*7 finite numbers, or rows of as many',
        ),
        (lambda: sb.Tolerances([[0]], [[0]]), r'path tolerances = \[\[0\]\]: expected a row each'),
    ],
)
def test_wrong_arguments_are_named(call, said):
    """Name the argument, the value and the accepted types; raise no raw error."""
    with pytest.raises(sb.SimBridgeError, match=said):
        call()


@pytest.mark.parametrize(
    ('holder', 'name'),
    [
        (_ARM.devices()[0], 'sample_step'),
        (sb.HeightField(np.zeros((2, 2)), (1, 1)), 'heights'),
        (sb.TriangleMesh(np.eye(3), [[0, 1, 2]]), 'bounds'),
        (_TRAJECTORY, 'joints'),
    ],
)
def test_derived_values_cannot_be_set(holder, name):
    """Refuse to set values used by steps, or computed only once."""
    with pytest.raises(AttributeError, match='cannot be set'):
        setattr(holder, name, 1)
