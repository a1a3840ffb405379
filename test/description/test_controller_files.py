"""Controller files as rcl reads them, and controllers as ros2_control declares them."""

from __future__ import annotations

from textwrap import indent

import pytest
from vehicles import skid_steered

from sim_bridge.description import load_description

WHEELS = {
    'left_wheel_names': '[front_left, rear_left]',
    'right_wheel_names': '[front_right, rear_right]',
    'wheel_separation': '0.4',
    'wheel_radius': '0.1',
}
TYPE = 'diff_drive_controller/DiffDriveController'


def flat(indent, **more):
    """Return the lines of a drive's parameters."""
    return ''.join(f'{" " * indent}{key}: {value}\n' for key, value in {**WHEELS, **more}.items())


def loaded(folder, *texts, inside=''):
    """Return the robot whose plugin names files with these texts."""
    names = []
    for number, text in enumerate(texts):
        (folder / f'c{number}.yaml').write_text(text)
        names.append(f'<parameters>c{number}.yaml</parameters>')
    plugin = (
        '<gazebo><plugin filename="gz_ros2_control-system" name="c">'
        f'{"".join(names)}{inside}</plugin></gazebo>'
    )
    file = folder / 'robot.urdf'
    file.write_text(skid_steered().replace('</robot>', f'{plugin}</robot>'))
    return load_description(file)


MANAGER = f'controller_manager:\n  ros__parameters:\n    base: {{type: {TYPE}}}\n'
FORMS = {
    'nested': MANAGER + 'base:\n  ros__parameters:\n' + flat(4),
    'dotted type': f'controller_manager:\n  ros__parameters:\n    base.type: {TYPE}\n'
    'base:\n  ros__parameters:\n' + flat(4),
    'own type': 'controller_manager:\n  ros__parameters: {update_rate: 100}\n'
    f'base:\n  ros__parameters:\n    type: {TYPE}\n' + flat(4),
    'given twice': f'/**:\n  controller_manager:\n    ros__parameters:\n'
    f'      base: {{type: {TYPE}}}\n/**:\n  base:\n    ros__parameters:\n' + flat(6),
    'wildcards': f'/**/controller_manager:\n  ros__parameters:\n    base: {{type: {TYPE}}}\n'
    '/**:\n  ros__parameters:\n' + flat(4),
    'full names': MANAGER.replace('controller_manager', '/controller_manager')
    + '/base:\n  ros__parameters:\n'
    + flat(4),
    'other namespace': MANAGER.replace('controller_manager', '/bot/controller_manager')
    + '/bot/base:\n  ros__parameters:\n'
    + flat(4),
}


@pytest.mark.parametrize('text', FORMS.values(), ids=FORMS)
def test_every_form_that_rcl_reads_gives_the_drive(tmp_path, text):
    """Find the same drive in all forms of a parameter file, without a finding."""
    description = loaded(tmp_path, text)
    assert [(drive.name, len(drive.wheels)) for drive in description.drives] == [('base', 4)]
    assert description.report.findings == ()
    ((manager,), (controller,)) = (
        description.controller_managers,
        description.controller_managers[0].controllers,
    )
    assert (manager.name, controller.name, controller.type) == ('controller_manager', 'base', TYPE)
    assert controller.parameters['wheel_radius'] == 0.1
    assert 'type' in text.splitlines()[controller.line - 1] and controller.path.endswith('c0.yaml')


def test_dotted_limits_are_limits(tmp_path):
    """Read limits from dotted names, the form in the files of most ROS 2 robots."""
    limits = {'linear.x.max_velocity': '0.2', 'linear.x.has_velocity_limits': 'true'}
    description = loaded(tmp_path, MANAGER + 'base:\n  ros__parameters:\n' + flat(4, **limits))
    (drive,) = description.drives
    assert (drive.limits[0].max_velocity, drive.limits[0].min_velocity) == (0.2, -0.2)
    assert description.report.findings == ()


def test_later_files_and_blocks_override_earlier_ones(tmp_path):
    """Use the last value of a parameter, in a later block or a later file."""
    first = MANAGER + 'base:\n  ros__parameters:\n' + flat(4, publish_rate='10.0')
    second = '/**:\n  ros__parameters: {cmd_vel_timeout: 0.5}\nbase:\n  ros__parameters: '
    description = loaded(tmp_path, first, second + '{publish_rate: 30.0}\n')
    (drive,) = description.drives
    assert (drive.rate, drive.timeout) == (30.0, 0.5)


def test_the_namespace_selects_blocks_and_names_topics(tmp_path):
    """Prefer the block of the plugin's namespace, and use the namespace in the topics."""
    blocks = ''.join(
        f'/{name}:\n  base:\n    ros__parameters:\n' + flat(6, publish_rate=rate)
        for name, rate in (('bot1', '10.0'), ('bot2', '20.0'))
    )
    inside = '<ros><namespace>/bot1</namespace></ros>'
    text = '/bot1:\n' + indent(MANAGER, '  ') + blocks
    description = loaded(tmp_path, text, inside=inside)
    (drive,) = description.drives
    assert drive.rate == 10.0
    assert (drive.command_topic, drive.odom_topic) == ('/bot1/base/cmd_vel', '/bot1/base/odom')
    assert description.controller_managers[0].namespace == 'bot1'


def test_remapped_topics_of_a_controller_are_its_topics(tmp_path):
    """Use the remapped names as topics."""
    inside = (
        '<ros><remapping>/base/cmd_vel:=/go</remapping><remapping>/base/odom:=reckoned</remapping>'
        '</ros>'
    )
    text = MANAGER + 'base:\n  ros__parameters:\n' + flat(4)
    (drive,) = loaded(tmp_path, text, inside=inside).drives
    assert (drive.command_topic, drive.odom_topic) == ('/go', '/reckoned')


def test_broadcasters_of_sensors_are_named(tmp_path):
    """Name a broadcaster whose sensor the robot does not have."""
    text = (
        'controller_manager:\n  ros__parameters:\n'
        '    imu: {type: imu_sensor_broadcaster/IMUSensorBroadcaster}\n'
        '    joints: {type: joint_state_broadcaster/JointStateBroadcaster}\n'
        'imu: {ros__parameters: {sensor_name: chip}}\n'
    )
    (finding,) = loaded(tmp_path, text).report.findings
    assert (finding.name, finding.value, finding.omits) == ('imu', 'chip', 'controller')
    assert 'no sensor has this name' in finding.message and 'c0.yaml:5' in finding.message


def test_values_outside_a_block_are_named(tmp_path):
    """Report a value outside any block, and read the rest of the file."""
    text = 'rate: 5\n' + MANAGER + 'base:\n  ros__parameters:\n' + flat(4)
    description = loaded(tmp_path, text)
    (finding,) = description.report.findings
    assert finding.code == 'outside-block' and 'c0.yaml:1' in finding.message
    assert len(description.drives) == 1


@pytest.mark.parametrize('name', ['r.urdf', 'r.xacro.urdf', 'r.urdf.xacro'])
def test_packages_in_texts_are_found_whatever_the_name_of_the_file(tmp_path, name):
    """Expand $(find …) and $(dirname) in the text of an element."""
    (tmp_path / 'package.xml').write_text('<package><name>bot</name></package>')
    (tmp_path / 'c.yaml').write_text(MANAGER + 'base:\n  ros__parameters:\n' + flat(4))
    for path in ('$(find bot)/c.yaml', '$(dirname)/c.yaml'):
        plugin = (
            '<gazebo><plugin filename="gz_ros2_control-system" name="c">'
            f'<parameters>{path}</parameters></plugin></gazebo>'
        )
        (tmp_path / name).write_text(skid_steered().replace('</robot>', f'{plugin}</robot>'))
        assert [drive.name for drive in load_description(tmp_path / name).drives] == ['base']
