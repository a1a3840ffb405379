"""
A robot simulator for ROS 2.

URDF in, an in-house ODE-like stepper, the topics of a real robot's drivers out.
"""

from sim_bridge import dynamics
from sim_bridge.description import DescriptionError, load_description
from sim_bridge.description.model import RobotDescription
from sim_bridge.errors import (
    InvalidValueError,
    SimBridgeError,
    SimulationError,
    StateError,
    UnknownNameError,
)
from sim_bridge.joint import Joint
from sim_bridge.link import Link
from sim_bridge.robot import Robot
from sim_bridge.sensors.devices import AccelerationSensor, ForceSensor, ImuSensor, RateGyroSensor
from sim_bridge.version import __version__
from sim_bridge.world import World

__all__ = [
    'AccelerationSensor',
    'DescriptionError',
    'ForceSensor',
    'ImuSensor',
    'InvalidValueError',
    'Joint',
    'Link',
    'RateGyroSensor',
    'Robot',
    'RobotDescription',
    'SimBridgeError',
    'SimulationError',
    'StateError',
    'UnknownNameError',
    'World',
    '__version__',
    'dynamics',
    'load_description',
]
