"""
A bridge as a competent user writes it in an afternoon: rclpy over MuJoCo, nothing else.

    python -m benchmarks.minimal_bridge --arms 2

One node; a thread that steps at absolute deadlines, fills message objects and publishes them; the
default executor for commands. Topics, types, rates, frames and QoS are those of
sim_bridge with the same number of arms from urdf/, so that `python -m benchmarks bridge` compares
like with like. It does nothing else: no checks, limits, time-outs, services or parameters.
"""

from __future__ import annotations

import argparse
import threading
import time

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import WrenchStamped
import mujoco
import numpy as np
import rclpy
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.signals import SignalHandlerOptions
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu, JointState

from sim_bridge.description import find_robot

PERIOD_NS = 1_000_000
_CLOCK_EVERY = 5
_STREAM_QOS, _COMMAND_QOS = QoSProfile(depth=1000), QoSProfile(depth=10)
_SENSORS = {
    # MuJoCo's name: the name of its site
    'force': 'wrist',
    'torque': 'wrist',
    'gyro': 'imu',
    'accelerometer': 'imu',
    'framequat': 'imu',
}


def build(arms: int) -> mujoco.MjModel:
    """Put this many arms from urdf/ beside each other, weightless and without contacts."""
    spec = mujoco.MjSpec()
    spec.option.timestep = PERIOD_NS * 1e-9
    spec.option.gravity = [0.0, 0.0, 0.0]
    spec.option.disableflags = int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    for number in range(arms):
        arm = mujoco.MjSpec.from_file(str(find_robot('arm')))
        # keep links joined by fixed joints apart: the wrist sensor measures between two of them
        arm.compiler.fusestatic = False
        arm.body('tool_flange').add_site(name='wrist')
        arm.body('imu_link').add_site(name='imu')
        for kind, site in _SENSORS.items():
            arm.add_sensor(
                name=kind,
                type=getattr(mujoco.mjtSensor, f'mjSENS_{kind.upper()}'),
                objtype=mujoco.mjtObj.mjOBJ_SITE,
                objname=site,
            )
        frame = spec.worldbody.add_frame(pos=[0.0, 2.0 * number, 0.0])
        spec.attach(arm, prefix=f'arm_{number + 1}/', frame=frame)
    return spec.compile()


class Arm:
    """One arm's topics: joint states, wrench, and the IMU's readings on three topics."""

    def __init__(self, node: Node, name: str, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        """Find the arm in the model, and open its topics."""
        prefix = f'{name}/'
        joints = [j for j in map(model.joint, range(model.njnt)) if j.name.startswith(prefix)]
        self._names = [joint.name.removeprefix(prefix) for joint in joints]
        at = {name: row for row, name in enumerate(self._names)}
        # an arm's coordinates lie beside each other
        where = slice(joints[0].dofadr[0], joints[-1].dofadr[0] + 1)
        self._q, self._dq = data.qpos[where], data.qvel[where]
        self._applied = data.qfrc_applied[where]
        self._efforts = np.zeros(len(joints))
        self._lock = threading.Lock()
        self._force, self._torque, self._w, self._dv, self._quaternion = (
            data.sensor(prefix + kind).data for kind in _SENSORS
        )

        def take(command: JointState) -> None:
            with self._lock:
                for joint, effort in zip(command.name, command.effort, strict=True):
                    self._efforts[at[joint]] = effort

        node.create_subscription(JointState, f'{name}/joint_commands', take, _COMMAND_QOS)
        self._joint_states = node.create_publisher(JointState, f'{name}/joint_states', _STREAM_QOS)
        self._wrench = node.create_publisher(WrenchStamped, f'{name}/wrist_ft/wrench', _STREAM_QOS)
        self._imu, self._gyro, self._accel = (
            node.create_publisher(Imu, f'{name}/imu/{topic}', _STREAM_QOS)
            for topic in ('imu', 'gyro', 'accel')
        )
        self._frame, self._imu_frame = f'{name}/tool_flange', f'{name}/imu_link'

    def apply(self) -> None:
        """Hand the latest command to the engine."""
        with self._lock:
            self._applied[:] = self._efforts

    def publish(self, stamp: Time) -> None:
        """Fill and publish one message for each topic."""
        state = JointState(name=self._names)
        state.header.stamp = stamp
        state.position = self._q.tolist()
        state.velocity = self._dq.tolist()
        state.effort = self._applied.tolist()
        self._joint_states.publish(state)

        wrench = WrenchStamped()
        wrench.header.stamp, wrench.header.frame_id = stamp, self._frame
        force, torque = wrench.wrench.force, wrench.wrench.torque
        # force of the child on the parent, as in sim_bridge; MuJoCo gives the force on the child
        force.x, force.y, force.z = (-self._force).tolist()
        torque.x, torque.y, torque.z = (-self._torque).tolist()
        self._wrench.publish(wrench)

        imu = self._message(stamp)
        q, w, a = imu.orientation, imu.angular_velocity, imu.linear_acceleration
        q.w, q.x, q.y, q.z = self._quaternion.tolist()
        w.x, w.y, w.z = self._w.tolist()
        a.x, a.y, a.z = self._dv.tolist()
        self._imu.publish(imu)

        gyro = self._message(stamp)
        gyro.orientation_covariance[0] = gyro.linear_acceleration_covariance[0] = -1.0
        gyro.angular_velocity = w
        self._gyro.publish(gyro)

        accel = self._message(stamp)
        accel.orientation_covariance[0] = accel.angular_velocity_covariance[0] = -1.0
        accel.linear_acceleration = a
        self._accel.publish(accel)

    def _message(self, stamp: Time) -> Imu:
        message = Imu()
        message.header.stamp, message.header.frame_id = stamp, self._imu_frame
        return message


class Bridge:
    """Steps in real time on a separate thread; drops missed deadlines."""

    def __init__(self, node: Node, arms: int, report_period: float) -> None:
        """
        Compile the model and open all topics.

        report_period: seconds between two lateness reports on /diagnostics.
        """
        self._model = build(arms)
        self._data = mujoco.MjData(self._model)
        self._arms = [
            Arm(node, f'arm_{number + 1}', self._model, self._data) for number in range(arms)
        ]
        self._clock = node.create_publisher(Clock, '/clock', _STREAM_QOS)
        self._diagnostics = node.create_publisher(DiagnosticArray, '/diagnostics', 10)
        self._lateness_ns: list[int] = []
        self._ticks = 0
        self._is_stopping = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        node.create_timer(report_period, self._report)

    def close(self) -> None:
        """Stop."""
        self._is_stopping = True
        self._thread.join()

    def _run(self) -> None:
        deadline = time.monotonic_ns()
        while not self._is_stopping:
            left = deadline - time.monotonic_ns()
            if left > 0:
                time.sleep(left * 1e-9)
            lateness = time.monotonic_ns() - deadline
            self._tick()
            self._lateness_ns.append(lateness)
            deadline += (1 + lateness // PERIOD_NS) * PERIOD_NS

    def _tick(self) -> None:
        for arm in self._arms:
            arm.apply()
        mujoco.mj_step(self._model, self._data)
        self._ticks += 1
        sec, nanosec = divmod(self._ticks * PERIOD_NS, 1_000_000_000)
        stamp = Time(sec=sec, nanosec=nanosec)
        for arm in self._arms:
            arm.publish(stamp)
        if self._ticks % _CLOCK_EVERY == 0:
            self._clock.publish(Clock(clock=stamp))

    def _report(self) -> None:
        """Report the values needed by the benchmark, under sim_bridge's names."""
        lateness, self._lateness_ns = self._lateness_ns, []
        values = {'ticks since start': str(self._ticks)}
        for name, level in {'p50': 50.0, 'p99': 99.0, 'max': 100.0}.items():
            values[f'tick lateness {name} [ms]'] = f'{np.percentile(lateness, level) * 1e-6:.3f}'
        self._diagnostics.publish(
            DiagnosticArray(
                status=[
                    DiagnosticStatus(
                        name='minimal_bridge: pacing',
                        values=[KeyValue(key=key, value=value) for key, value in values.items()],
                    )
                ]
            )
        )


def main() -> None:
    """Run until SIGINT."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--arms', type=int, default=1)
    parser.add_argument('--report-period', type=float, default=1.0, metavar='SECONDS')
    options, ros_args = parser.parse_known_args()
    # rclpy's own handlers would remove the context while the thread runs
    rclpy.init(args=ros_args, signal_handler_options=SignalHandlerOptions.NO)
    node = Node('minimal_bridge')
    bridge = Bridge(node, options.arms, options.report_period)
    try:
        rclpy.spin(node)
    except KeyboardInterrupt:
        pass
    finally:
        bridge.close()
        node.destroy_node()
        rclpy.try_shutdown()


if __name__ == '__main__':
    main()
