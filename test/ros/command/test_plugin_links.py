"""Gazebo's plugins for links, tick by tick: pushes, joints that detach, touches."""

from __future__ import annotations

from fluid_robots import link, plugin
from following import LatestMessages, simulator
from geometry_msgs.msg import Wrench
import numpy as np
import pytest
from rclpy.serialization import serialize_message
from std_msgs.msg import Bool, Empty

import sim_bridge as sb
from sim_bridge.ros.wire.qos import optional_messages

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

RATE = 500.0
MASS, INERTIA, LOAD = 4.0, 0.1, 1.0
BOX = '<collision name="{0}"><geometry><box size="0.2 0.2 0.2"/></geometry></collision>'
NO_GRAVITY = {'ground': False, 'gravity': (0.0, 0.0, 0.0), 'position': (0.0, 0.0, 0.0)}


def carrier(*plugins):
    """Return a box with another one below it, on a joint with six degrees of freedom."""
    base = link('base', MASS, (INERTIA, INERTIA), BOX.format('hull'))
    load = link('load', LOAD, (0.01, 0.01), BOX.format('crate'))
    joint = (
        '<joint name="free" type="floating"><parent link="base"/><child link="load"/>'
        '<origin xyz="0 0 -0.3"/></joint>'
    )
    return f'<robot name="carrier">{base}{load}{joint}{"".join(plugins)}</robot>'


def made(tmp_path, text, sink=None, **values):
    path = tmp_path / 'robot.urdf'
    path.write_text(text)
    return simulator(sink, robot=str(path), rate=RATE, base='free', **values)


def send(simulated, topic, message):
    """Send a message like the graph."""
    (take,) = [t.take for t in simulated.interfaces[0].command_topics if t.name == topic]
    take(serialize_message(message))


def run(simulated, seconds):
    for _ in range(round(seconds * RATE)):
        simulated.tick()


def wrench(force=(0.0, 0.0, 0.0), torque=(0.0, 0.0, 0.0)):
    message = Wrench()
    message.force.x, message.force.y, message.force.z = force
    message.torque.x, message.torque.y, message.torque.z = torque
    return message


def test_a_force_of_gazebo_ros_acts_until_the_next_message(tmp_path):
    """Accelerate by F / m and T / I for a second, then coast; a reset ends the force."""
    text = carrier(plugin('libgazebo_ros_force.so', link_name='base', force_frame='link'))
    simulated = made(tmp_path, text, **NO_GRAVITY)
    base = simulated.interfaces[0].robot.root_link
    send(simulated, 'gazebo_ros_force', wrench((2.0, 0.0, 0.0), (0.0, 0.0, 0.05)))
    saved = simulated.save()
    run(simulated, 1.0)
    turn, pace = 0.05 / INERTIA, 2.0 / MASS
    assert base.w == pytest.approx([0.0, 0.0, turn])
    # the force turns with the link: a' = F / m in the direction turn t² / 2
    times = (np.arange(500) + 0.5) / RATE
    angles = 0.5 * turn * times**2
    expected = pace / RATE * np.array([np.cos(angles).sum(), np.sin(angles).sum()])
    assert base.v[:2] == pytest.approx(expected, abs=1e-6)
    send(simulated, 'gazebo_ros_force', wrench())
    run(simulated, 0.2)
    assert base.v[:2] == pytest.approx(expected, abs=1e-6)
    simulated.restore(saved, clock=False)
    run(simulated, 1.0)
    assert base.v[:2] == pytest.approx([0.0, 0.0], abs=1e-12)
    send(simulated, 'gazebo_ros_force', wrench((2.0, 0.0, 0.0)))
    run(simulated, 0.1)
    simulated.reset(clock=False)
    run(simulated, 0.1)
    assert base.v == pytest.approx([0.0, 0.0, 0.0], abs=1e-12)
    send(simulated, 'gazebo_ros_force', wrench((float('nan'), 0.0, 0.0)))
    assert 'finite numbers' in simulated.interfaces[0].commands.queue.refusal


WRENCHES = 'gz-sim-apply-link-wrench-system'


def test_lasting_wrenches_of_a_file_push_links_and_robots(tmp_path):
    """Add up the forces on one link; name an entry for another robot."""
    entries = [
        ('base', 'link', '1 0 0'),
        ('carrier', 'model', '3 0 0'),
        ('carrier::load', 'link', '0 2 0'),
    ]
    inside = ''.join(
        f'<persistent><entity_name>{name}</entity_name><entity_type>{kind}</entity_type>'
        f'<force>{force}</force></persistent>'
        for name, kind, force in entries
    )
    text = carrier(plugin(WRENCHES).replace('</plugin>', f'{inside}</plugin>'))
    simulated = made(tmp_path, text, **NO_GRAVITY)
    robot = simulated.interfaces[0].robot
    send_nothing = 0.5
    run(simulated, send_nothing)
    assert robot.root_link.v == pytest.approx([4.0 / MASS * 0.5, 0.0, 0.0], abs=1e-9)
    assert robot.link('load').v == pytest.approx([0.0, 2.0 / LOAD * 0.5, 0.0], abs=1e-9)
    other = sb.load_description(text.replace('carrier::load', 'other::thing'))
    assert [each.code for each in other.report.findings] == ['unknown-link']


def test_wrenches_by_name_act_for_a_step_or_until_cleared(tmp_path):
    """Push for one physics step, keep a push, and end it by its name."""
    messages = optional_messages('ros_gz_interfaces')
    simulated = made(tmp_path, carrier(plugin(WRENCHES)), **NO_GRAVITY)
    base = simulated.interfaces[0].robot.root_link
    entity = messages.Entity(name='carrier::base', type=messages.Entity.LINK)
    push = messages.EntityWrench(entity=entity, wrench=wrench((8.0, 0.0, 0.0)))
    send(simulated, 'world/default/wrench', push)
    run(simulated, 0.1)
    step = simulated.world.time_step
    assert base.v == pytest.approx([8.0 * step / MASS, 0.0, 0.0], abs=1e-12)
    before = base.v[0]
    send(simulated, 'world/default/wrench/persistent', push)
    run(simulated, 0.5)
    assert base.v[0] == pytest.approx(before + 8.0 / MASS * 0.5)
    send(simulated, 'world/default/wrench/clear', entity)
    run(simulated, 0.5)
    assert base.v[0] == pytest.approx(before + 8.0 / MASS * 0.5)
    push.entity.name = 'other::base'
    send(simulated, 'world/default/wrench', push)
    assert 'carrier::base' in simulated.interfaces[0].commands.queue.refusal


DETACH = 'gz-sim-detachable-joint-system'
STEM = 'model/carrier/detachable_joint'


def test_a_detachable_joint_holds_until_a_message_and_again(tmp_path):
    """Hold the load rigidly, drop it in free fall, and take it up where it is."""
    joint = {'parent_link': 'base', 'child_model': '__model__', 'child_link': 'load'}
    text = carrier(plugin(DETACH, **joint, output_topic='held'))
    sink = LatestMessages()
    simulated = made(tmp_path, text, sink, **NO_GRAVITY)
    robot = simulated.interfaces[0].robot
    base, load = robot.root_link, robot.link('load')
    base_velocity = (0.3, 0.0, 0.0), (0.0, 0.0, 0.8)
    run(simulated, 0.01)
    assert sink.latest['held'].data == 'attached'
    robot.set_base_velocity(*base_velocity)
    run(simulated, 1.0)
    assert load.w == pytest.approx(base.w, abs=1e-9)
    assert base.R.T @ (load.p - base.p) == pytest.approx([0.0, 0.0, -0.3], abs=1e-6)
    # momentum: both bodies turn about one axis
    saved = simulated.save()
    send(simulated, f'{STEM}/detach', Empty())
    run(simulated, 0.01)
    assert sink.latest['held'].data == 'detached'
    ends = []
    for _ in range(2):
        simulated.restore(saved, clock=False)
        base.add_torque((0.0, 0.0, 5.0))
        run(simulated, 0.5)
        assert load.w == pytest.approx(base.w, abs=1e-6)
        ends.append(simulated.world.state_hash())
        send(simulated, f'{STEM}/detach', Empty())
        run(simulated, 0.01)
        kept = load.w.copy()
        base.add_torque((0.0, 0.0, 20.0))
        run(simulated, 0.5)
        assert load.w == pytest.approx(kept, abs=1e-9) and base.w[2] > kept[2] + 0.1
        send(simulated, f'{STEM}/attach', Empty())
        run(simulated, 0.5)
        assert load.w == pytest.approx(base.w, abs=1e-6)
    assert ends[0] == ends[1]
    simulated.reset(clock=False)
    robot.set_base_velocity((0.0, 0.0, 0.0), (0.0, 0.0, 0.8))
    run(simulated, 0.5)
    assert base.R.T @ (load.p - base.p) == pytest.approx([0.0, 0.0, -0.3], abs=1e-6)


def test_a_detachable_joint_waits_for_its_other_robot(tmp_path):
    """Hold a robot that comes later; report unknown links of the own robot."""
    joint = {'parent_link': 'load', 'child_model': 'crate', 'child_link': 'box'}
    simulated = made(tmp_path, carrier(plugin(DETACH, **joint)), **NO_GRAVITY)
    run(simulated, 0.01)
    box = f'<robot name="crate">{link("box", 1.0, (0.01, 0.01))}</robot>'
    crate = simulated.world.load_urdf(box, name='crate', position=(0.0, 0.0, -0.6))
    run(simulated, 0.01)
    load = simulated.interfaces[0].robot.link('load')
    assert simulated.world.joints['carrier/detachable_joint_1'].link2.robot is crate
    load.add_force((100.0, 0.0, 0.0), rel_point=(0.0, 0.0, -0.15))
    run(simulated, 0.2)
    assert crate.root_link.v[0] == pytest.approx(load.v[0], rel=0.5)
    assert crate.root_link.w == pytest.approx(load.w, abs=1e-6)
    description = sb.load_description(carrier(plugin(DETACH, child_model='x')))
    assert [each.code for each in description.report.findings] == ['missing-tag'] * 2
    assert not description.inputs


SENSOR = (
    '<gazebo reference="base"><sensor name="bumper" type="contact">'
    '<contact><collision>hull</collision></contact></sensor></gazebo>'
)


def test_a_touch_is_told_once_after_its_time(tmp_path):
    """Count the time on the ground; tell once, and again after it is enabled."""
    touch = plugin('gz-sim-touchplugin-system', target='ground', time=0.3, namespace='bot')
    text = carrier(SENSOR, touch.replace('</plugin>', '<enabled>true</enabled></plugin>'))
    text = text.replace('<origin xyz="0 0 -0.3"/>', '<origin xyz="2 0 0"/>')
    sink = LatestMessages()
    simulated = made(tmp_path, text, sink, position=(0.0, 0.0, 0.1))
    run(simulated, 0.3)
    assert 'bot/touched' not in sink.latest
    saved = simulated.save()
    run(simulated, 0.02)
    assert sink.latest.pop('bot/touched').data
    run(simulated, 0.5)
    assert 'bot/touched' not in sink.latest
    simulated.restore(saved, clock=False)
    run(simulated, 0.02)
    assert sink.latest.pop('bot/touched').data
    send(simulated, 'bot/enable', Bool(data=True))
    run(simulated, 0.2)
    simulated.interfaces[0].robot.set_base_pose((0.0, 0.0, 1.0), (0.0, 0.0, 0.0, 1.0))
    run(simulated, 0.3)
    assert 'bot/touched' not in sink.latest
    description = sb.load_description(carrier(touch))
    assert [each.code for each in description.report.findings] == ['missing-sensor']
