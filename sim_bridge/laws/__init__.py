"""
Control laws and inverse kinematics of robots: `sb.laws`.

Efforts and references are arrays over `robot.joint_names`, like `robot.u`. Imports `world`,
`robots` and `foundation`; nothing of ROS.
"""

from sim_bridge.laws.inverse_kinematics import inverse_kinematics
from sim_bridge.laws.joint_laws import computed_torque, felt_inertia, pd
from sim_bridge.laws.resistance import JointResistance
from sim_bridge.laws.task_laws import (
    impedance,
    largest_time_step,
    operational_space,
    pose_error,
    Target,
)
from sim_bridge.laws.traj_ref import TrajRef

__all__ = [
    'JointResistance',
    'Target',
    'TrajRef',
    'computed_torque',
    'felt_inertia',
    'impedance',
    'inverse_kinematics',
    'largest_time_step',
    'operational_space',
    'pd',
    'pose_error',
]
