"""OpenPLX scenes in the node: their robots' topics, running motors, excluded parameters."""

from __future__ import annotations

from xml.etree import ElementTree

from following import simulator
import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from sim_bridge.ros.wire.qos import LATCHED_QOS

pytest_plugins = ['node_fixtures']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

TWO = """
Wheel is Physics3D.System:
    disc is Physics3D.Bodies.RigidBody:
        shape is Physics3D.Geometries.Cylinder:
            radius: 0.2
            height: 0.05
        hub is Physics3D.Interactions.MateConnector:
            main_axis: Math.Vec3.Y_AXIS()
    speed is Real: 2
    axle is Physics3D.Interactions.MateConnector:
        main_axis: Math.Vec3.Y_AXIS()
    hinge is Physics3D.Interactions.Hinge:
        connectors: [axle, disc.hub]
    motor is Physics3D.Interactions.RotationalVelocityMotor:
        connectors: hinge.connectors
        target_speed: speed

Pair is Physics3D.System:
    left is Wheel
    right is Wheel:
        axle.position.x: 1
        speed: -3
"""


@pytest.fixture
def file(tmp_path):
    """Return a file with a scene with one robot, and one with two."""
    path = tmp_path / 'wheels.openplx'
    path.write_text(TWO, encoding='utf-8')
    return path


def test_one_robot_has_the_topics_of_a_robot_and_its_motor_runs(graph, start_node, file):
    """The joint has the mate's name, and turns at its motor's target speed."""
    start_node(robot=file, model='Wheel')
    states = graph.listen(JointState, '/joint_states')
    graph.wait_for_next(states, 20)
    assert states[-1].name == ['hinge']
    assert states[-1].velocity[0] == pytest.approx(2.0, abs=1e-6)


def test_the_excavator_has_a_description_and_frames(graph, start_node):
    """All links form one tree below the world; the URDF contains its joints."""
    start_node(robot='excavator', publish_tf=True, publish_link_tf=True)
    texts = graph.listen(String, '/robot_description', LATCHED_QOS)
    moving, fixed = (
        graph.listen(TFMessage, f'/{name}', qos)
        for name, qos in (('tf', 10), ('tf_static', LATCHED_QOS))
    )
    states = graph.listen(JointState, '/joint_states')
    graph.wait(lambda: texts and moving and fixed and states, 'description, frames and states')
    root = ElementTree.fromstring(texts[-1].data)
    links = {link.get('name') for link in root.findall('link')}
    movable = {
        joint.get('name') for joint in root.findall('joint') if joint.get('type') != 'fixed'
    }
    assert movable <= set(states[-1].name)
    parents = {
        each.child_frame_id: each.header.frame_id
        for message in (moving[-1], fixed[-1])
        for each in message.transforms
    }
    bodies = {'pedestal', 'turret', 'boom', 'stick', 'bucket', 'boom_cylinder_rod'}
    assert bodies <= links
    for name in bodies:
        while name != 'world':
            name = parents[name]


def test_robots_of_a_scene_have_namespaces_of_their_names(graph, start_node, file, tmp_path):
    """In a scene file and in a file given as robot."""
    scene = tmp_path / 'scene.yaml'
    scene.write_text('world: {openplx: {pair: {file: wheels.openplx}}}\n', encoding='utf-8')
    start_node(world=scene)
    heard = {
        side: graph.listen(JointState, f'/pair_{side}/joint_states') for side in ('left', 'right')
    }
    for side, speed in (('left', 2.0), ('right', -3.0)):
        graph.wait_for_next(heard[side], 20)
        assert heard[side][-1].name == [f'{side}_hinge']
        assert heard[side][-1].velocity[0] == pytest.approx(speed, abs=1e-6)


def test_a_robot_without_axes_publishes_its_links(tmp_path):
    """A pendulum on a ball joint is no object; of an object, only the root would be published."""
    path = tmp_path / 'ball.openplx'
    path.write_text(
        TWO.partition('    hinge is')[0].replace('Wheel', 'Ball')
        + ('    joint is Physics3D.Interactions.Ball:\n        connectors: [axle, disc.hub]\n'),
        encoding='utf-8',
    )
    [made] = simulator(robot=str(path)).interfaces
    assert {'joint_states', 'multi_dof_joint_states'} <= set(made.topics)


def test_parameters_defined_by_the_scene_are_refused(refusals, file):
    """A base, an unknown model and a defect are refused by name."""
    base, model = refusals({'robot': file, 'base': 'fixed'}, {'robot': file, 'model': 'Weel'})
    assert "parameter 'base'" in base
    assert "'Wheel'" in model
