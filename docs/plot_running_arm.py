"""
Draw docs/running_arm.png, or another file: topics from a running arm.

Start a moving robot in one terminal, and run this script in another with the same environment. It
needs matplotlib, which `make bench` also installs:

    .venv/bin/python -m sim_bridge run arm --controller computed_torque \
        --params docs/sinusoid.yaml --real-time-factor 0.5
    .venv/bin/python docs/plot_running_arm.py
"""

from __future__ import annotations

from pathlib import Path
import sys

from geometry_msgs.msg import WrenchStamped
import matplotlib
from matplotlib import pyplot
import numpy as np
import rclpy
from rclpy.node import Node
from sensor_msgs.msg import Imu, JointState

matplotlib.use('Agg')

DURATION_S = 5.0


def main() -> None:
    """Listen for five simulated seconds, then draw."""
    rclpy.init()
    node = Node('plot_running_arm')
    rows: dict[str, list[tuple[float, ...]]] = {}

    def listen(message_type, topic, values):
        def keep(message):
            stamp = message.header.stamp
            rows.setdefault(topic, []).append((stamp.sec + 1e-9 * stamp.nanosec, *values(message)))

        node.create_subscription(message_type, topic, keep, 1000)

    listen(JointState, 'joint_states', lambda m: (*m.position, *m.effort))
    listen(
        WrenchStamped,
        'wrist_ft/wrench',
        lambda m: (m.wrench.force.x, m.wrench.force.y, m.wrench.force.z),
    )
    listen(
        Imu,
        'imu/gyro',
        lambda m: (m.angular_velocity.x, m.angular_velocity.y, m.angular_velocity.z),
    )
    listen(
        Imu,
        'imu/accel',
        lambda m: (m.linear_acceleration.x, m.linear_acceleration.y, m.linear_acceleration.z),
    )
    while len(rows) < 4 or any(r[-1][0] - r[0][0] < DURATION_S for r in rows.values()):
        rclpy.spin_once(node, timeout_sec=1.0)
    node.destroy_node()
    rclpy.shutdown()
    draw(
        {topic: np.array(values) for topic, values in rows.items()},
        Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).with_name('running_arm.png'),
    )


def draw(topics: dict[str, np.ndarray], path: Path) -> None:
    """Draw the five quantities, one panel above the other."""
    joints = topics['joint_states']
    count = (joints.shape[1] - 1) // 2
    panels = [
        ('joint_states\nposition [rad]', joints[:, : 1 + count]),
        ('joint_states\neffort [N m]', np.hstack([joints[:, :1], joints[:, 1 + count :]])),
        ('wrist_ft/wrench\nforce [N]', topics['wrist_ft/wrench']),
        ('imu/gyro\n[rad/s]', topics['imu/gyro']),
        ('imu/accel\n[m/s²]', topics['imu/accel']),
    ]
    figure, axes = pyplot.subplots(len(panels), sharex=True, figsize=(9, 9))
    start = max(data[0, 0] for _, data in panels)
    for axis, (label, data) in zip(axes, panels, strict=True):
        axis.plot(data[:, 0] - start, data[:, 1:], linewidth=1.0)
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
    axes[0].set_xlim(0.0, DURATION_S)
    axes[0].legend([f'joint_{k + 1}' for k in range(count)], ncols=count, fontsize='x-small')
    axes[-1].legend(['x', 'y', 'z'], ncols=3, fontsize='x-small')
    axes[-1].set_xlabel('simulated time [s]')
    figure.align_ylabels()
    figure.tight_layout()
    figure.savefig(path, dpi=110)


if __name__ == '__main__':
    main()
