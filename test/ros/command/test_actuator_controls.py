"""Actuators of MJCF robots under ROS: idle before the first message, then MuJoCo's."""

from __future__ import annotations

from bags import start_recording
from following import simulator
import mujoco
import pytest
from rclpy.serialization import serialize_message
from std_msgs.msg import Float64MultiArray

from sim_bridge.ros.bag.replay import replay

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

_ROBOT = """<mujoco model="crane"><option timestep="0.0005"/><worldbody><body name="base">
  <geom size="0.05" contype="0" conaffinity="0"/>
  <body name="jib" pos="0 0 1"><joint name="luff" axis="0 1 0" damping="0.5"/>
    <geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.03" contype="0" conaffinity="0"/>
  </body></body></worldbody>
  <actuator><position name="servo" joint="luff" kp="80" kv="8" forcerange="-30 30"/>
    <motor name="motor" joint="luff" gear="2"/></actuator></mujoco>"""
_RATE = 2000.0


def send(simulated, *controls):
    """Send controls like the graph; return the interface of the robot."""
    (interface,) = simulated.interfaces
    (take,) = [each.take for each in interface.command_topics if each.name == 'actuator_controls']
    take(serialize_message(Float64MultiArray(data=controls)))
    return interface


def run(simulated, seconds):
    for _ in range(round(seconds * _RATE)):
        simulated.tick()


def test_actuators_are_idle_until_their_first_message_and_then_mujocos(tmp_path):
    """Hold the joint at first; follow MuJoCo's path after the first controls."""
    path = tmp_path / 'crane.xml'
    path.write_text(_ROBOT)
    simulated = simulator(robot=str(path), rate=_RATE, ground=False)
    robot = simulated.interfaces[0].robot
    for _ in range(100):
        simulated.tick()
    assert robot.joint('luff').q == 0.0 and robot.actuators['servo'].force == 0.0
    send(simulated, -0.4, 1.0)
    model = mujoco.MjModel.from_xml_string(_ROBOT)
    data = mujoco.MjData(model)
    data.ctrl[:] = -0.4, 1.0
    for _ in range(1000):
        simulated.tick()
        mujoco.mj_step(model, data)
    assert robot.joint('luff').q == pytest.approx(data.qpos[0], abs=2e-3)
    assert abs(data.qpos[0]) > 0.1


def test_wrong_controls_are_refused_with_the_names_of_the_actuators(tmp_path):
    """Name the actuators in order, for a message of another length."""
    path = tmp_path / 'crane.xml'
    path.write_text(_ROBOT)
    interface = send(simulator(robot=str(path), rate=_RATE, ground=False), 0.1)
    assert '2 finite numbers: servo, motor' in interface.commands.queue.refusal


def test_controls_are_saved_replayed_and_reset(tmp_path):
    """Go on from a snapshot to the same bits; be idle after a reset; replay all of it."""
    path = tmp_path / 'crane.xml'
    path.write_text(_ROBOT)
    given = {'robot': str(path), 'rate': _RATE, 'ground': False}
    offline = start_recording(tmp_path / 'bag', record_hash_period=0.05, **given)
    simulated = offline.simulator
    robot = simulated.interfaces[0].robot
    send(simulated, -0.4, 1.0)
    ends = []
    run(simulated, 0.05)
    saved = simulated.save()
    for _ in range(2):
        run(simulated, 0.05)
        ends.append(robot.joint('luff').q)
        simulated.restore(saved, clock=False)
    assert ends[0] == ends[1] != 0.0
    simulated.reset(clock=False)
    run(simulated, 0.05)
    assert robot.joint('luff').q == 0.0 and robot.actuators['servo'].force == 0.0
    offline.recording.close()
    verdict = replay(tmp_path / 'bag')
    assert verdict.is_same, verdict.difference
    assert verdict.state_hash == simulated.world.state_hash()
