"""
Turn the arm until an AprilTag is in the middle of its wrist camera's picture.

A node with OpenCV's detector: docs/howto/servoing.md.
"""

from __future__ import annotations

from contextlib import suppress

import cv2
import numpy as np
import rclpy
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import CameraInfo, Image, JointState

FAMILY = cv2.aruco.DICT_APRILTAG_36h11
SIDE = 0.12
"""Of the tag [m]."""
GAIN = 0.6
"""Joint velocity over the angle from the picture's middle [1/s]."""
CORNERS = 0.5 * SIDE * np.array([[-1, 1, 0], [1, 1, 0], [1, -1, 0], [-1, -1, 0]])


class Servo(Node):
    """Commands two joints from each picture."""

    def __init__(self) -> None:
        """Listen to the camera."""
        super().__init__('servo')
        self._detector = cv2.aruco.ArucoDetector(cv2.aruco.getPredefinedDictionary(FAMILY))
        self._info: CameraInfo | None = None
        self._commands = self.create_publisher(JointState, 'joint_commands', 10)
        self.create_subscription(CameraInfo, 'wrist_camera/camera_info', self._keep, 10)
        self.create_subscription(Image, 'wrist_camera/image_raw', self._look, 10)

    def _keep(self, info: CameraInfo) -> None:
        self._info = info

    def _look(self, image: Image) -> None:
        if self._info is None:
            return
        pixels = np.frombuffer(image.data, np.uint8).reshape(image.height, image.width, 3)
        found, _, _ = self._detector.detectMarkers(cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY))
        command = JointState(name=['joint_1', 'joint_6'], velocity=[0.0, 0.0])
        command.header.stamp = image.header.stamp
        if found:
            k, d = np.reshape(self._info.k, (3, 3)), np.array(self._info.d)
            _, _, place = cv2.solvePnP(CORNERS, found[0].reshape(4, 2), k, d)
            x, y, z = place.ravel()
            # stretched ahead, the arm holds the camera upside down: its right is the arm's left,
            # where joint_1 turns; joint_6 turns it down
            command.velocity = [GAIN * x / z, -GAIN * y / z]
            self.get_logger().info(
                f'tag {x * 1e3:.0f} mm right, {y * 1e3:.0f} mm below the middle, at {z:.3f} m'
            )
        self._commands.publish(command)


if __name__ == '__main__':
    with suppress(KeyboardInterrupt):
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        rclpy.spin(Servo())
