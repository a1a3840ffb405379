"""A robot whose controller file declares controllers of every kind for joints."""

from __future__ import annotations

from pathlib import Path

import yaml

# inertia of every turning link about its axis [kg m²]
INERTIA = 0.1

_INERTIAL = (
    '<inertial><mass value="0.5"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" '
    'izz="0.1"/></inertial>'
)
_TURN = 'lower="-3" upper="3" effort="50" velocity="5"'
_JOINTS = {
    'shoulder': ('revolute', 'base', '0 0 1', _TURN),
    'elbow': ('revolute', 'shoulder_link', '0 0 1', _TURN),
    'finger': ('prismatic', 'base', '1 0 0', 'lower="0" upper="0.1" effort="20" velocity="0.5"'),
    'claw': ('prismatic', 'base', '1 0 0', 'lower="0" upper="0.1" effort="20" velocity="0.5"'),
    'jaw': ('prismatic', 'base', '1 0 0', 'lower="0" upper="0.1" effort="20" velocity="0.5"'),
    'wheel': ('continuous', 'base', '0 0 1', ''),
    'turret': ('continuous', 'base', '0 0 1', ''),
}
PLUGIN = (
    '<gazebo><plugin filename="gz_ros2_control-system" name="c">'
    '<parameters>controllers.yaml</parameters>{}</plugin></gazebo>'
)
TYPES = {
    'panda_arm_controller': 'joint_trajectory_controller/JointTrajectoryController',
    'hand': 'position_controllers/GripperActionController',
    'claw_controller': 'effort_controllers/GripperActionController',
    'jaw_controller': 'parallel_gripper_action_controller/GripperActionController',
    'spin': 'pid_controller/PidController',
    'turn': 'velocity_controllers/JointGroupVelocityController',
    'arm_forward': 'forward_command_controller/ForwardCommandController',
    'joint_state_broadcaster': 'joint_state_broadcaster/JointStateBroadcaster',
}
SETTINGS = {
    'panda_arm_controller': {
        'joints': ['shoulder', 'elbow'],
        'command_interfaces': ['position'],
        'state_interfaces': ['position', 'velocity'],
        'constraints': {'goal_time': 0.5, 'shoulder': {'trajectory': 0.2, 'goal': 0.01}},
    },
    'hand': {'joint': 'finger', 'allow_stalling': True, 'stall_timeout': 0.2},
    'claw_controller': {
        'joint': 'claw',
        'gains': {'claw': {'p': 100.0, 'd': 20.0}},
        'goal_tolerance': 0.002,
        'stall_timeout': 0.1,
    },
    'jaw_controller': {'joint': 'jaw'},
    'spin': {
        'dof_names': ['wheel'],
        'command_interface': 'effort',
        'reference_and_state_interfaces': ['velocity'],
        'gains': {'wheel': {'p': 2.0, 'i': 1.0, 'feedforward_gain': 0.5}},
    },
    'turn': {'joints': ['turret']},
    'arm_forward': {'joints': ['shoulder', 'elbow'], 'interface_name': 'position'},
}


def controlled_arm(folder: Path, inside: str = '', **changes: dict[str, object]) -> str:
    """
    Write the robot and its controller file; return the robot's file name.

    inside: further elements of the plugin. changes: parameters by controller name, in place of
    those in SETTINGS; `types` changes the types.
    """
    types = {**TYPES, **changes.pop('types', {})}
    content = {
        'controller_manager': {
            'ros__parameters': {
                'update_rate': 200,
                **{name: {'type': kind} for name, kind in types.items() if kind},
            }
        }
    }
    for name, values in {**SETTINGS, **changes}.items():
        content[name] = {'ros__parameters': values}
    (folder / 'controllers.yaml').write_text(yaml.safe_dump(content, sort_keys=False))
    links = ''.join(
        f'<link name="{name}_link">{_INERTIAL}</link>'
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/>'
        f'<child link="{name}_link"/><axis xyz="{axis}"/>'
        f'{f"<limit {limit}/>" if limit else ""}</joint>'
        for name, (kind, parent, axis, limit) in _JOINTS.items()
    )
    path = folder / 'robot.urdf'
    path.write_text(
        f'<robot name="picker"><link name="world"/><link name="base">{_INERTIAL}</link>'
        '<joint name="mount" type="fixed"><parent link="world"/><child link="base"/></joint>'
        f'{links}{PLUGIN.format(inside)}</robot>'
    )
    return str(path)
