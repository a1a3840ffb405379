"""First lines of a node's log: base, and parts of the robot without simulation."""

from __future__ import annotations

from running_node import Running

MASS = (
    '<inertial><mass value="1"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/>'
    '</inertial>'
)
ARM = (
    f'<robot name="arm3"><link name="base">{MASS}</link>'
    '{joints}'
    '<gazebo reference="l2"><sensor name="eye" type="thermal_camera"/>'
    '<sensor name="chip" type="imu"><update_rate>often</update_rate></sensor></gazebo>'
    '<gazebo><plugin filename="libfancy.so" name="fancy"/></gazebo></robot>'
)
JOINT = (
    f'\n<link name="l{{n}}">{MASS}</link>'
    '<joint name="j{n}" type="revolute">'
    '<parent link="{above}"/><child link="l{n}"/><axis xyz="0 1 0"/>'
    '<limit lower="-1" upper="1" effort="9" velocity="9"/></joint>'
)


def test_the_log_names_the_base_and_all_parts_without_simulation(tmp_path):
    """Log them once, with file and line, and hold the arm."""
    above = ['base', 'l0', 'l1']
    joints = ''.join(JOINT.format(n=n, above=above[n]) for n in range(3))
    file = tmp_path / 'arm3.urdf'
    file.write_text(ARM.format(joints=joints))
    node = Running('-m', 'sim_bridge', 'node', str(file))
    try:
        node.hear('fixed base, since it is an arm: one limb of 3 joints')
        for words in (
            "robot 'arm3' is simulated without:",
            'arm3.urdf:4: warning: sensor \'eye\' type="thermal_camera"',
            "arm3.urdf:4: warning: sensor 'chip' <update_rate> often.*the sensor is left out",
            'arm3.urdf:4: warning: gazebo \'fancy\' <plugin filename="libfancy.so">',
        ):
            node.hear(words)
        assert node.said.count("sensor 'eye'") == 1
    finally:
        node.kill()


def test_strict_nodes_refuse_the_robot(tmp_path):
    """End with the defect of a sensor, its line and its value."""
    file = tmp_path / 'arm3.urdf'
    joint = JOINT.format(n=2, above='base')
    file.write_text(ARM.format(joints=joint))
    node = Running('-m', 'sim_bridge', 'node', str(file), '--strict')
    try:
        node.hear("arm3.urdf:2: error: sensor 'chip' <update_rate> often")
        assert node.process.wait(60.0) == 2
    finally:
        node.kill()
