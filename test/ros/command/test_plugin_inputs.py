"""Topics from Gazebo's plugins for air, water and joints, tick by tick, against closed forms."""

from __future__ import annotations

import math

from bags import start_recording
from fluid_robots import boat, flight_plugin, plugin, quadrotor, QUADROTOR_MASS
from following import simulator
from geometry_msgs.msg import Twist, Vector3
import numpy as np
import pytest
from rclpy.serialization import serialize_message
from std_msgs.msg import Bool, Float64, Float64MultiArray

from sim_bridge.ros.bag.replay import replay

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

RATE = 500.0
G = 9.81
BOAT_MASS = 10.005  # of the boat [kg]
SPEEDS = 'X3/gazebo/command/motor_speed/array'
HOVER = math.sqrt(QUADROTOR_MASS * G / (4.0 * 8.54858e-06))


def made(tmp_path, text, **values):
    """Return a simulator with a robot, at 500 control steps a second."""
    path = tmp_path / 'robot.urdf'
    path.write_text(text)
    place = {'ground': False, 'position': (0.0, 0.0, 0.0)}
    return simulator(robot=str(path), rate=RATE, base='free', **place, **values)


def send(simulated, topic, message):
    """Send a message like the graph."""
    (take,) = [t.take for t in simulated.interfaces[0].command_topics if t.name == topic]
    take(serialize_message(message))


def run(simulated, seconds):
    for _ in range(round(seconds * RATE)):
        simulated.tick()


def numbers(*values):
    return Float64MultiArray(data=values)


def test_a_quadrotor_hovers_and_yaws_by_its_rotor_speeds(tmp_path):
    """Hold height at weight-bearing speeds; turn against the faster pair."""
    simulated = made(tmp_path, quadrotor())
    robot = simulated.interfaces[0].robot
    send(simulated, SPEEDS, numbers(HOVER, HOVER, HOVER, HOVER))
    run(simulated, 1.0)
    before = robot.root_link.v.copy()
    run(simulated, 1.0)
    assert robot.root_link.v == pytest.approx(before, abs=1e-9)
    send(simulated, SPEEDS, numbers(1.1 * HOVER, 1.1 * HOVER, 0.9 * HOVER, 0.9 * HOVER))
    run(simulated, 0.5)
    # counterclockwise rotors turn the body clockwise
    assert robot.root_link.w[2] < -0.1
    # the plugin's greatest speed, and a message too short
    send(simulated, SPEEDS, numbers(900.0, HOVER, HOVER, HOVER))
    run(simulated, 0.5)
    assert 10.0 * robot.joint('rotor_0').dq == pytest.approx(800.0)
    send(simulated, SPEEDS, numbers(900.0))
    assert 'at least 4 rotor speeds' in simulated.interfaces[0].commands.queue.refusal


def test_velocity_control_flies_a_quadrotor_by_twists(tmp_path):
    """Rise and yaw with the first order of the gains, fly ahead, and stop when switched off."""
    simulated = made(tmp_path, quadrotor().replace('</robot>', flight_plugin() + '</robot>'))
    robot = simulated.interfaces[0].robot
    send(simulated, SPEEDS, numbers(HOVER, HOVER, HOVER, HOVER))
    run(simulated, 0.5)
    rising = robot.root_link.v[2]
    twist = Twist()
    twist.linear.z, twist.angular.z = 0.5, 0.2
    send(simulated, 'X3/cmd_vel', twist)
    run(simulated, 1.0)
    # the rotors lag behind by 12 ms
    expected = 0.5 + (rising - 0.5) * math.exp(-2.7 / QUADROTOR_MASS)
    assert robot.root_link.v[2] == pytest.approx(expected, abs=0.01)
    assert robot.root_link.w[2] == pytest.approx(0.2 * (1.0 - math.exp(-0.18 / 0.06)), abs=0.02)
    twist = Twist()
    twist.linear.x = 1.0
    send(simulated, 'X3/cmd_vel', twist)
    run(simulated, 8.0)
    link = robot.root_link
    # the rotors' drag against the velocity gain
    ahead = 2.7 / (2.7 + 4.0 * 8.06428e-05 * HOVER)
    assert link.R.T @ link.v == pytest.approx([ahead, 0.0, 0.0], abs=0.015)
    saved = simulated.save()
    run(simulated, 0.2)
    there = link.p.copy()
    simulated.restore(saved, clock=False)
    run(simulated, 0.2)
    assert np.array_equal(link.p, there)
    send(simulated, 'X3/enable', Bool(data=False))
    run(simulated, 0.5)
    assert not np.any(np.abs(robot.dq[:4]) > 1e-3)
    twist.linear.x = math.inf
    send(simulated, 'X3/cmd_vel', twist)
    assert 'finite numbers' in simulated.interfaces[0].commands.queue.refusal


def test_a_boat_drives_by_thrust_in_a_current(tmp_path):
    """End at √(T / D) relative to the current; feedback has the propeller's speed."""
    text = boat(
        plugin(
            'gz-sim-thruster-system',
            joint_name='propeller',
            thrust_coefficient=0.004,
            propeller_diameter=0.2,
            max_thrust_cmd=50,
            deadband=1.0,
        ),
        plugin(
            'gz-sim-hydrodynamics-system',
            link_name='base',
            xUabsU=-20,
            xDotU=-5,
            yV=-50,
            zW=-200,
            kP=-5,
            mQ=-5,
            nR=-5,
        ),
        plugin(
            'gz-sim-buoyancy-system',
            graded_buoyancy='<density_change><above_depth>0'
            '</above_depth><density>0</density></density_change>',
        ),
    )
    simulated = made(tmp_path, text)
    robot = simulated.interfaces[0].robot
    stem = 'model/boat/joint/propeller'
    send(simulated, f'{stem}/cmd_thrust', Float64(data=80.0))
    run(simulated, 8.0)
    assert robot.root_link.v[0] == pytest.approx(math.sqrt(50.0 / 20.0), rel=1e-3)
    # 10.005 kg at 1000 kg/m³ on 0.1 m²
    assert robot.root_link.p[2] == pytest.approx(0.1 - 0.10005, abs=1e-3)
    speed = math.sqrt(50.0 / (0.004 * 1000.0 * 0.2**4))
    assert robot.joint('propeller').dq == pytest.approx(speed)
    send(simulated, 'ocean_current', Vector3(x=0.5, y=0.0, z=0.0))
    run(simulated, 8.0)
    assert robot.root_link.v[0] == pytest.approx(0.5 + math.sqrt(50.0 / 20.0), rel=1e-3)
    send(simulated, f'{stem}/cmd_thrust', Float64(data=0.5))
    run(simulated, 0.5)
    assert robot.joint('propeller').dq == pytest.approx(0.0, abs=1e-6)
    send(simulated, f'{stem}/enable_deadband', Bool(data=False))
    send(simulated, f'{stem}/cmd_thrust', Float64(data=0.5))
    run(simulated, 0.5)
    assert robot.joint('propeller').dq == pytest.approx(speed / 10.0)
    send(simulated, 'ocean_current', Vector3(x=math.nan))
    assert 'current' in simulated.interfaces[0].commands.queue.refusal


def test_joint_controllers_take_numbers(tmp_path):
    """Follow positions as a servo, on the plugin's topic."""
    text = boat(
        plugin(
            'gz-sim-joint-position-controller-system',
            joint_name='propeller',
            p_gain=1,
            d_gain=0.01,
            topic='fin',
        )
    )
    simulated = made(tmp_path, text, gravity=(0.0, 0.0, 0.0))
    send(simulated, 'fin', Float64(data=0.7))
    run(simulated, 2.0)
    assert simulated.interfaces[0].robot.joint('propeller').q == pytest.approx(0.7, abs=1e-6)


def test_inputs_belong_to_snapshots_resets_and_recordings(tmp_path):
    """Return to the same bits from a snapshot and in a replay; a reset stops the rotors."""
    (tmp_path / 'robot.urdf').write_text(quadrotor())
    given = {'robot': str(tmp_path / 'robot.urdf'), 'rate': RATE, 'ground': False}
    offline = start_recording(tmp_path / 'bag', record_hash_period=0.05, **given)
    simulated = offline.simulator
    send(simulated, SPEEDS, numbers(HOVER, HOVER, HOVER, 0.9 * HOVER))
    run(simulated, 0.1)
    saved = simulated.save()
    ends = []
    for _ in range(2):
        send(simulated, SPEEDS, numbers(*[0.5 * HOVER] * 4))
        run(simulated, 0.1)
        ends.append(simulated.interfaces[0].robot.root_link.v.copy())
        simulated.restore(saved, clock=False)
    assert np.array_equal(*ends)
    simulated.reset(clock=False)
    run(simulated, 0.1)
    assert not np.any(simulated.interfaces[0].robot.dq[:4])
    offline.recording.close()
    verdict = replay(tmp_path / 'bag')
    assert verdict.is_same, verdict.difference
    assert verdict.state_hash == simulated.world.state_hash()


def test_a_bladder_is_pumped_by_messages_and_tells_its_volume(tmp_path):
    """Sink and rise by the volume, which follows its target with the file's rate."""
    text = boat(
        plugin(
            'gz-sim-buoyancy-engine-system',
            link_name='base',
            neutral_volume=0.001,
            default_volume=0.001,
            max_volume=0.002,
            max_inflation_rate=0.001,
        ),
        plugin('gz-sim-buoyancy-system', uniform_fluid_density=500.25),
    )
    simulated = made(tmp_path, text)
    robot = simulated.interfaces[0].robot
    run(simulated, 0.2)
    assert np.abs(robot.root_link.v).max() < 1e-6
    # to the limit of 2 litres, within 1 s
    send(simulated, 'buoyancy_engine', Float64(data=0.5))
    run(simulated, 1.0)
    gained = G * 1000.0 * 0.001 / BOAT_MASS
    assert robot.root_link.v[2] == pytest.approx(0.5 * gained, rel=1e-3)
    (state,) = simulated.interfaces[0].plugins.state_topics
    assert state.name.endswith('buoyancy_engine/current_volume')
    assert state.message.stamped(b'').data == pytest.approx(0.002)
    send(simulated, 'buoyancy_engine', Float64(data=math.nan))
    assert 'a volume' in simulated.interfaces[0].commands.queue.refusal
    simulated.reset(clock=False)
    assert state.message.stamped(b'').data == 0.001


def test_messages_turn_the_wind(tmp_path):
    """Follow the wind's velocity with its time constants; a reset calms it."""
    text = boat(
        plugin('gz-sim-wind-effects-system', vertical='<time_for_rise>0.5</time_for_rise>'),
        '<gazebo><enable_wind>true</enable_wind></gazebo>',
    )
    simulated = made(tmp_path, text, gravity=(0.0, 0.0, 0.0))
    robot = simulated.interfaces[0].robot
    send(simulated, 'world/default/wind', Vector3(x=3.0, y=4.0, z=1.0))
    run(simulated, 1.0)
    (state,) = simulated.interfaces[0].plugins.state_topics
    wind = state.message.stamped(b'')
    share = 1.0 - math.exp(-1.0)
    wanted = (3.0 * share, 4.0 * share, 1.0 - math.exp(-2.0))
    assert (wind.x, wind.y, wind.z) == pytest.approx(wanted, rel=1e-2)
    # v' = w (1 - exp(-t)) - v: v = w (1 - (1 + t) exp(-t))
    assert robot.root_link.v[0] == pytest.approx(3.0 * (1.0 - 2.0 * math.exp(-1.0)), rel=1e-2)
    simulated.reset(clock=False)
    run(simulated, 0.5)
    assert not robot.root_link.v.any()
    send(simulated, 'world/default/wind', Vector3(x=math.inf))
    assert 'wind' in simulated.interfaces[0].commands.queue.refusal


def test_a_boat_follows_waypoints_in_turn(tmp_path):
    """Push ahead with the file's force, turn at the waypoint, pause, and go on in a loop."""
    text = boat(
        plugin(
            'gz-sim-trajectory-follower-system',
            link_name='base',
            loop='true',
            force=20,
            torque=5,
            bearing_tolerance=3,
            range_tolerance=0.4,
            waypoints='<waypoint>2 0</waypoint><waypoint>2 2</waypoint>',
        ),
        plugin('gz-sim-hydrodynamics-system', link_name='base', xU=-20, yV=-200, nR=-10, zW=-50),
    )
    simulated = made(tmp_path, text, gravity=(0.0, 0.0, 0.0))
    link = simulated.interfaces[0].robot.root_link
    run(simulated, 0.5)
    # v = F / D (1 - exp(-D t / m))
    assert link.v[0] == pytest.approx(1.0 - math.exp(-20.0 * 0.5 / BOAT_MASS), rel=1e-2)
    near = [False, False]
    for _ in range(60):
        run(simulated, 0.25)
        near = [
            was or math.hypot(*(link.p[:2] - point)) < 0.45
            for was, point in zip(near, ((2.0, 0.0), (2.0, 2.0)), strict=True)
        ]
    assert near == [True, True]
    send(simulated, 'model/boat/trajectory_follower/pause', Bool(data=True))
    run(simulated, 8.0)
    assert np.abs(link.v[:2]).max() < 1e-3
    simulated.reset(clock=False)
    run(simulated, 0.5)
    assert link.v[0] == pytest.approx(1.0 - math.exp(-20.0 * 0.5 / BOAT_MASS), rel=1e-2)


BATTERY = 'linearbatteryplugin-system'


def test_a_battery_discharges_by_its_load_from_the_first_command_on(tmp_path):
    """Follow the voltage under constant power, I = P / V; thrusters add their loads."""
    text = boat(
        plugin(
            f'gz-sim-{BATTERY}',
            battery_name='pack',
            voltage=12.6,
            open_circuit_voltage_constant_coef=12.6,
            open_circuit_voltage_linear_coef=-3.0,
            capacity=0.01,
            initial_charge=0.008,
            resistance=0.05,
            smooth_current_tau=0.01,
            power_load=5,
            enable_recharge='true',
            charging_time=0.01,
            recharge_by_topic='true',
        ),
        plugin(
            'gz-sim-thruster-system', joint_name='propeller', power_load=7, battery_name='pack'
        ),
    )
    simulated = made(tmp_path, text, gravity=(0.0, 0.0, 0.0))
    (battery,) = simulated.interfaces[0].batteries.batteries
    assert (battery.description.topic, battery.description.power) == (
        'model/boat/battery/pack/state',
        12.0,
    )
    run(simulated, 0.5)
    assert battery.charge == 0.008
    send(simulated, 'model/boat/joint/propeller/cmd_thrust', Float64(data=1.0))
    run(simulated, 1.0)
    # with the steady current I: V = 12.6 - 3 (1 - q / c) - r I, I = 12 / V
    for _ in range(2):
        open_voltage = 12.6 - 3.0 * (1.0 - battery.charge / 0.01)
        current = (open_voltage - math.sqrt(open_voltage**2 - 4.0 * 0.05 * 12.0)) / 0.1
        assert battery.current == pytest.approx(current, rel=1e-3)
        assert battery.voltage == pytest.approx(12.0 / current, rel=1e-3)
        before = battery.charge
        run(simulated, 0.5)
        assert before - battery.charge == pytest.approx(0.5 * current / 3600.0, rel=3e-3)
    saved = simulated.save()
    send(simulated, 'model/boat/battery/pack/recharge/start', Bool())
    before = battery.charge
    run(simulated, 1.0)
    # charged with c / t = 1 A
    assert battery.current == pytest.approx(12.0 / battery.voltage - 1.0, rel=1e-2)
    simulated.restore(saved, clock=False)
    assert battery.charge == before and not battery.is_charging
    simulated.reset(clock=False)
    assert battery.charge == 0.008
