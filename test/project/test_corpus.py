"""Corpus search, trials and table."""

from __future__ import annotations

from pathlib import Path
import subprocess
import sys

import pytest
from vehicles import vehicle, wheel

from corpus.__main__ import main, try_file
from corpus.robot_files import robot_files, RobotFile, spread
from corpus.rows import DriveResult, Parts, Row, summary, table

_DRIVE = (
    '<gazebo><plugin name="wheels" filename="libgazebo_ros_diff_drive.so">'
    '<left_joint>left</left_joint><right_joint>right</right_joint>'
    '<wheel_separation>0.4</wheel_separation><wheel_diameter>{diameter}</wheel_diameter>'
    '</plugin></gazebo>'
)
_SENSORS = (
    '<gazebo reference="base_link"><sensor name="imu" type="imu"/>'
    '<sensor name="nose" type="smell"/></gazebo>'
)


def wheeled(diameter: float) -> str:
    """Return a vehicle on four wheels, two of them driven. diameter: declared one [m]."""
    wheels = (('left', 0.0, 0.2), ('right', 0.0, -0.2), ('front', 0.15, 0.0), ('rear', -0.15, 0.0))
    parts = ''.join(wheel(name, x, y) for name, x, y in wheels)
    return vehicle(parts, _DRIVE.format(diameter=diameter) + _SENSORS)


def write(folder, **texts: str) -> None:
    """Write files; `__` in a name stands for a slash, `_xacro` and the like for a suffix."""
    for name, text in texts.items():
        path = folder / name.replace('__', '/').replace('_urdf', '.urdf').replace('_x', '.xacro')
        path = path.with_name(path.name.replace('_sdf', '.sdf').replace('_mjcf', '.xml'))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding='utf-8')


def test_the_search_names_the_reason_for_each_skipped_file(tmp_path):
    """Try robots; skip macros, included parts, nameless xacro files and other formats."""
    space = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'
    include = '<xacro:include filename="$(find p)/urdf/part.xacro"/>'
    write(
        tmp_path,
        a__robot_urdf=vehicle(''),
        a__urdf__whole_x=f'<robot name="whole" {space}>{include}<link name="b"/></robot>',
        a__urdf__part_x=f'<robot name="part" {space}><link name="a"/></robot>',
        b__macros_x=f'<robot name="m" {space}><xacro:macro name="n"><link name="a"/>'
        '<xacro:macro name="inner"><link name="b"/></xacro:macro><link name="c"/>'
        '</xacro:macro></robot>',
        b__nameless_x=f'<robot {space}><link name="a"/></robot>',
        **{'b__poses.srdf_x': f'<robot name="m" {space}><xacro:n/></robot>'},
        b__model_sdf='<sdf version="1.9"><model name="m"/></sdf>',
        b__arm_mjcf='<mujoco/>',
        b__launch_mjcf='<launch/>',
        b__old_urdf='<!-- <robot name="a"><link name="b"/></robot> -->',
    )
    found = robot_files(tmp_path)
    assert [(each.name, each.skipped) for each in found] == [
        ('a/robot.urdf', ''),
        ('a/urdf/part.xacro', 'part of another file'),
        ('a/urdf/whole.xacro', ''),
        ('b/arm.xml', 'MJCF'),
        ('b/macros.xacro', 'macros alone'),
        ('b/model.sdf', 'SDF'),
        ('b/nameless.xacro', 'no robot name'),
        ('b/poses.srdf.xacro', 'SRDF'),
    ]
    assert {each.workspace for each in found} == {tmp_path / 'a', tmp_path / 'b'}


def test_the_workspace_of_a_file_is_its_clone(tmp_path):
    """Take the folder with .git, at any depth."""
    write(tmp_path, owner__clone__urdf__robot_urdf=vehicle(''))
    (tmp_path / 'owner' / 'clone' / '.git').mkdir()
    [found] = robot_files(tmp_path)
    assert found.workspace == tmp_path / 'owner' / 'clone'


def test_a_limited_number_of_files_of_each_clone_is_tried():
    """Spread the files over the names; keep skipped files."""
    names = [*(f'a/{k}.urdf' for k in range(9)), 'b/0.urdf']
    files = [RobotFile(Path(name), Path(name).parent, name) for name in names]
    skipped = RobotFile(Path('a/x.sdf'), Path('a'), 'a/x.sdf', 'SDF')
    kept = [each.name for each in spread([*files, skipped], 3)]
    assert kept == ['a/0.urdf', 'a/3.urdf', 'a/6.urdf', 'a/x.sdf', 'b/0.urdf']


def test_the_table_tells_straight_drives_from_wrong_ones(tmp_path, capsys):
    """Declare half the wheel diameter: the distance, and Gazebo's true odometry, are doubled."""
    write(
        tmp_path,
        r__right_urdf=wheeled(0.2),
        r__wrong_urdf=wheeled(0.1),
        r__broken_urdf='<robot name="b"><link name="a"/><link name="b"/></robot>',
    )
    output = tmp_path / 'results.md'
    main([str(tmp_path), '--output', str(output)])
    text = output.read_text(encoding='utf-8')
    rows = {line.split(' | ')[0][2:]: line.split(' | ') for line in text.splitlines()}
    assert rows['r/broken.urdf'][1] == 'no' and rows['r/broken.urdf'][2]
    right, wrong = rows['r/right.urdf'], rows['r/wrong.urdf']
    assert right[1:6] == ['yes', '', 'free', 'yes', '1+1/2']
    assert right[6] == 'diff_drive: 0.0%, odometry 0.0%'
    assert wrong[6] == 'diff_drive: 100.0%, odometry 100.0%'
    assert '2 of 3 files load; 2 stand still; 1 of 2 drives within 2%' in text
    assert 'sensors: 2 simulated and 2 named of 4' in text
    assert capsys.readouterr().out.count('\n') == 5


def test_declared_drives_without_simulation_are_in_the_row(tmp_path):
    """Name a drive plugin without simulation."""
    plugin = '<gazebo><plugin name="mover" filename="libmy_tricycle_drive.so"/></gazebo>'
    write(tmp_path, r__robot_urdf=vehicle(wheel('left', 0.0, 0.2), plugin))
    [file] = robot_files(tmp_path)
    assert try_file(file, 60.0).drives == [DriveResult('mover', reason='not simulated')]


def test_a_file_without_links_does_not_load(tmp_path):
    """Name the reason instead of an error in a later stage."""
    macro = '<xacro:macro name="n"/><xacro:n/>'
    write(
        tmp_path,
        r__robot_x=f'<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">{macro}</robot>',
    )
    [file] = robot_files(tmp_path)
    row = try_file(file, 60.0)
    assert not row.loads and row.reason


def test_packages_of_other_clones_are_found_on_request(tmp_path):
    """Refuse a mesh from another clone, unless its folder is given."""
    mesh = '<mesh filename="package://parts/tetrahedron.obj"/>'
    inertia = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    inertial = f'<inertial><mass value="1"/>{inertia}</inertial>'
    collision = f'<collision><geometry>{mesh}</geometry></collision>'
    body = f'<link name="a">{inertial}{collision}</link>'
    shape = 'v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n'
    write(tmp_path, r__robot_urdf=f'<robot name="r">{body}</robot>')
    parts = tmp_path / 'clone_of_parts' / 'meshes_and_more'
    parts.mkdir(parents=True)
    (parts / 'package.xml').write_text('<package><name>parts</name></package>')
    (parts / 'tetrahedron.obj').write_text(shape)
    [file] = robot_files(tmp_path)
    alone, together = try_file(file, 60.0), try_file(file, 60.0, [tmp_path])
    assert not alone.loads and 'parts' in alone.reason
    assert together.loads and not together.reason


def test_a_file_without_end_is_a_row(tmp_path):
    """Stop a process at its time limit."""
    write(tmp_path, r__robot_urdf=wheeled(0.2))
    [file] = robot_files(tmp_path)
    row = try_file(file, 0.01)
    assert not row.loads and row.reason == 'no end after 0.01 s'


def test_a_crash_is_a_row(tmp_path, monkeypatch):
    """Name a failed process's last line."""

    def start(command, **options):
        return _popen([sys.executable, '-c', 'raise ValueError("wheel lost")'], **options)

    _popen = subprocess.Popen
    monkeypatch.setattr(subprocess, 'Popen', start)
    row = try_file(RobotFile(tmp_path / 'a.urdf', tmp_path, 'a.urdf'), 60.0)
    assert row.reason == 'crash with status 1: ValueError: wheel lost'


@pytest.mark.parametrize(
    ('drive', 'straight'),
    [
        (DriveResult('a', 0.02, 0.0), True),
        (DriveResult('a', 0.021, 0.0), False),
        (DriveResult('a', 0.0, 0.03), False),
        (DriveResult('a', reason='fixed base'), False),
    ],
)
def test_both_distances_of_a_drive_count(drive, straight):
    """Accept 2 % for the true distance and for the odometry."""
    assert drive.is_straight == straight


def test_rows_survive_json_and_name_silent_parts():
    """Name parts neither simulated nor reported; escape the table's separator."""
    row = Row(
        'a|b', True, '<x>', sensors=Parts(1, 0, ['gps']), drives=[DriveResult('d', 0.5, 0.25)]
    )
    assert Row.from_json(row.to_json()) == row
    cells = (
        'a\\|b | yes | &lt;x> |  |  | 1+0/2, silent: gps | d: 50.0%, odometry 25.0% |  |  | 0.0'
    )
    assert table([row]).splitlines()[2] == f'| {cells} |'
    assert summary([row], ['SDF', 'SDF']).endswith('skipped: 2 SDF')
