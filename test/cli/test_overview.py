"""Output of `sim_bridge check` for correct robots, scenes and parameter files."""

from __future__ import annotations

import io
import json
import re
import sys

import pytest

from sim_bridge.cli.main import main
from sim_bridge.cli.overview_text import MOST, WIDTH


def inertial(mass: float, xyz: str = '0 0 0') -> str:
    """Return an inertial element for a ball with radius 0.1 m."""
    i = 0.004 * mass
    return (
        f'<inertial><origin xyz="{xyz}"/><mass value="{mass}"/><inertia ixx="{i}" iyy="{i}" '
        f'izz="{i}" ixy="0" ixz="0" iyz="0"/></inertial>'
    )


ROBOT = f"""<robot name="cart">
<link name="base">{inertial(2.0, '0 0 0.5')}
  <collision><geometry><box size="1 1 1"/></geometry></collision>
  <collision><geometry><sphere radius="0.5"/></geometry></collision></link>
<link name="slide">{inertial(1.0)}
  <collision><geometry><mesh filename="block.stl"/></geometry></collision></link>
<link name="arm">{inertial(1.0)}</link>
<link name="follower">{inertial(1.0)}</link>
<joint name="slider" type="prismatic"><parent link="base"/><child link="slide"/>
  <origin xyz="3 0 0"/><axis xyz="0 1 0"/>
  <limit lower="-0.5" upper="0.25" effort="40" velocity="2"/></joint>
<joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 -1"/>
</joint>
<joint name="copy" type="continuous"><parent link="base"/><child link="follower"/>
  <axis xyz="0 0 1"/><mimic joint="hinge" multiplier="2" offset="0.5"/></joint>
<gazebo reference="arm"><sensor name="gyroscope" type="imu"><update_rate>200</update_rate>
  <imu><angular_velocity>
    <x><noise type="gaussian"><stddev>0.01</stddev></noise></x>
    <y><noise type="gaussian"><stddev>0.01</stddev></noise></y>
    <z><noise type="gaussian"><stddev>0.01</stddev></noise></z>
  </angular_velocity></imu></sensor></gazebo>
<gazebo><plugin name="wind" filename="libwind-system.so"/></gazebo>
<ros2_control name="system" type="system"><hardware><plugin>a/B</plugin></hardware>
  <joint name="hinge"><command_interface name="velocity"/><state_interface name="position"/>
  </joint>
</ros2_control>
</robot>"""

# the corners of a tetrahedron, and an inner point that is not on its hull
BLOCK = """solid block
{}endsolid block
"""
CORNERS = ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))


@pytest.fixture
def cart(tmp_path):
    """Write the robot and its mesh; return the robot's path."""
    facets = ''
    for left_out in range(4):
        corners = [corner for k, corner in enumerate(CORNERS) if k != left_out]
        facets += (
            'facet normal 0 0 0\nouter loop\n'
            + ''.join(f'vertex {x} {y} {z}\n' for x, y, z in corners)
            + 'endloop\nendfacet\n'
        )
    (tmp_path / 'block.stl').write_text(BLOCK.format(facets))
    path = tmp_path / 'cart.urdf'
    path.write_text(ROBOT)
    return path


def as_json(capsys, *arguments: object) -> dict:
    """Return the output of `check --json` for a file without errors."""
    assert main(['check', *map(str, arguments), '--json']) == 0
    return json.loads(capsys.readouterr().out)


def as_text(capsys, *arguments: object) -> str:
    """Return the output of `check` for a file without errors."""
    assert main(['check', *map(str, arguments)]) == 0
    return capsys.readouterr().out


def test_a_robot_as_json(cart, capsys):
    """Give programs all known figures of a robot."""
    report = as_json(capsys, cart)
    robot = report['robot']
    assert (report['kind'], robot['name'], robot['base'], robot['root']) == (
        'robot',
        'cart',
        'free',
        'base',
    )
    assert robot['degrees_of_freedom'] == {
        'total': 8,
        'base': 6,
        'one_axis_joints': 2,
        'several_axes_joints': 0,
        'taken_by_loops': 0,
        'mimic_joints': 1,
    }
    assert robot['mass'] == {'total': 5.0, 'center_of_mass': pytest.approx([0.6, 0.0, 0.2])}
    slider, hinge, copy = robot['joints']
    assert (slider['type'], slider['axis'], slider['parent'], slider['child']) == (
        'prismatic',
        [0.0, 1.0, 0.0],
        'base',
        'slide',
    )
    assert slider['limits'] == {
        'lower': -0.5,
        'upper': 0.25,
        'effort': 40.0,
        'velocity': 2.0,
        'lower_effort': -40.0,
    }
    assert hinge['limits'] == dict.fromkeys(
        ('lower', 'upper', 'effort', 'velocity', 'lower_effort')
    )
    assert copy['mimic'] == {'joint': 'hinge', 'multiplier': 2.0, 'offset': 0.5}
    assert robot['collision_shapes'] == {
        'counts': {'box': 1, 'sphere': 1, 'convex_hull': 1},
        'meshes': [{'link': 'slide', 'kind': 'convex_hull', 'vertices': 4, 'triangles': 4}],
    }
    (sensor,) = robot['sensors']
    assert (sensor['kind'], sensor['link'], sensor['frame'], sensor['update_rate']) == (
        'imu',
        'arm',
        'arm',
        200.0,
    )
    assert sensor['noise'] == {
        f'angular_velocity.{axis}': {'kind': 'gaussian', 'stddev': 0.01} for axis in 'xyz'
    }
    assert robot['ros2_control'] == [
        {
            'name': 'system',
            'plugin': 'a/B',
            'sensors': [],
            'joints': [
                {
                    'name': 'hinge',
                    'command_interfaces': ['velocity'],
                    'state_interfaces': ['position'],
                }
            ],
        }
    ]
    (missing,) = robot['not_simulated']
    assert 'wind' in missing['what'] and 'not run' in missing['why']
    assert ROBOT.splitlines()[missing['line'] - 1].startswith('<gazebo><plugin')


def test_shapes_are_counted_as_people_count(capsys):
    """Give each kind its plural."""
    assert '  5 boxes\n  6 cylinders\n' in as_text(capsys, 'four_bar')


def test_a_robot_as_text(cart, capsys):
    """Show people the same data."""
    lines = [line.strip() for line in as_text(capsys, cart).splitlines()]
    for expected in (
        "robot 'cart': free base, 4 links, 3 joints",
        'degrees of freedom: 8 = 6 of the free base + 2 of one-axis joints; 1 mimic joint besides',
        "mass: 5 kg, its centre at 0.6 0 0.2 m from 'base', all joints at 0",
        'slider  prismatic, y, -0.5 to 0.25 m, 40 N, 2 m/s -> slide, 1 kg',
        'hinge  continuous, -z -> arm, 1 kg',
        'copy  continuous, z, = 2 hinge + 0.5 -> follower, 1 kg',
        'gyroscope  imu on link arm, frame arm, 200 Hz, noise: stddev 0.01 of angular_velocity',
        'hinge  velocity; position',
        '1 box',
        'convex hull on slide: 4 triangles',
    ):
        assert expected in lines
    assert any(line.startswith('line ') and 'wind' in line for line in lines)


@pytest.mark.parametrize(
    ('robot', 'freedoms'),
    [
        ('arm', 7),
        ('quadruped', 18),
        ('pendulum', 1),
        ('double_pendulum', 2),
        ('floating_box', 6),
        ('four_bar', 1),
        ('delta', 3),
        ('rover', 10),
    ],
)
def test_degrees_of_freedom(robot, freedoms, capsys):
    """Count a robot's velocities, including its base and loops."""
    assert as_json(capsys, robot)['robot']['degrees_of_freedom']['total'] == freedoms
    assert all(len(line) <= WIDTH for line in as_text(capsys, robot).splitlines()[:-1])


def test_drives_and_tracks(capsys):
    """Name the wheels turned by a drive, and the tracks."""
    (drive,) = as_json(capsys, 'rover')['robot']['drives']
    assert drive['kind'] == 'differential'
    assert [wheel['joint'] for wheel in drive['wheels']] == [
        'left_wheel_joint',
        'right_wheel_joint',
    ]
    assert len(as_json(capsys, 'tracked_vehicle')['robot']['tracks']) == 2


def test_long_robots_are_abridged(tmp_path, capsys):
    """Show some lines and count the others, or show all; keep deep trees within the width."""
    count = MOST + 20
    links = ''.join(f'<link name="l{k}">{inertial(1.0)}</link>' for k in range(count))
    joints = ''.join(
        f'<joint name="a_long_name_of_a_joint_{k}" type="continuous"><parent link="l{k - 1}"/>'
        f'<child link="l{k}"/><axis xyz="1 2 3"/></joint>'
        for k in range(1, count)
    )
    path = tmp_path / 'chain.urdf'
    path.write_text(f'<robot name="chain">{links}{joints}</robot>')
    short, whole = as_text(capsys, path), as_text(capsys, path, '--all')
    assert f'… and {count - MOST} more; --all shows them' in short
    assert f'-> l{count - 1}, 1 kg' not in short
    # joins wrapped lines
    assert f'-> l{count - 1}, 1 kg' in ' '.join(whole.split())
    assert '--all' not in whole
    shown = [line for line in whole.splitlines() if not line.startswith(str(path))]
    assert all(len(line) <= WIDTH for line in shown)


def test_a_mesh_that_cannot_be_read_is_a_warning(cart, capsys):
    """Report it like loading with missing_meshes=warning, and show the rest."""
    (cart.parent / 'block.stl').write_bytes(b'none')
    report = as_json(capsys, cart)
    assert 'mesh-unreadable' in [finding['code'] for finding in report['findings']]
    assert report['robot']['collision_shapes']['counts'] == {'box': 1, 'sphere': 1}


def test_defects_hide_the_contents(cart, capsys):
    """Show only the report if a robot cannot be simulated."""
    cart.write_text(ROBOT.replace('type="prismatic"', 'type="sliding"'))
    assert main(['check', str(cart)]) == 1
    assert 'degrees of freedom' not in capsys.readouterr().out
    assert main(['check', str(cart), '--json']) == 1
    assert json.loads(capsys.readouterr().out)['robot'] is None


class Terminal(io.StringIO):
    """A terminal stream."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ('variables', 'is_coloured'),
    [({}, True), ({'NO_COLOR': '1'}, False), ({'TERM': 'dumb'}, False)],
)
def test_colours_on_terminals_only(variables, is_coloured, cart, monkeypatch, capsys):
    """Mark headings and warnings on a terminal, unless the environment disables colours."""
    monkeypatch.delenv('NO_COLOR', raising=False)
    monkeypatch.setenv('TERM', 'xterm')
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    plain = as_text(capsys, cart)
    assert '\x1b' not in plain
    terminal = Terminal()
    monkeypatch.setattr(sys, 'stdout', terminal)
    assert main(['check', str(cart)]) == 0
    text = terminal.getvalue()
    assert ('\x1b[1msensors\x1b[0m' in text, '\x1b[33mwarning\x1b[0m' in text) == (
        is_coloured,
        is_coloured,
    )


SCENE = """\
world:
  gravity: [0, 0, -1.6]
  ground: true
  objects:
    cube: {box: [1, 1, 1], mass: 2.0, position: [5, 0, 1]}
  robots:
    one: {urdf: cart.urdf, namespace: left}
    two: {urdf: pendulum}
"""


def test_a_scene_shows_its_fields_of_force(tmp_path, capsys):
    """Name each field, its type and its links."""
    path = tmp_path / 'scene.yaml'
    path.write_text(
        'world:\n  force_fields:\n    gale: {type: drag, linear: 0.5, links: [ground]}\n'
        '  ground: true\n'
    )
    assert as_json(capsys, path)['scene']['force_fields'] == [
        {'name': 'gale', 'type': 'Drag', 'line': 3, 'links': ['ground']}
    ]
    assert 'fields of force: gale (Drag)' in as_text(capsys, path)


def test_a_scene_shows_its_joints_and_settings(repository, capsys):
    """Name each joint, its type and its bodies, and the settings of the world."""
    path = repository / 'config/world_joints.yaml'
    scene = as_json(capsys, path)['scene']
    joints = {each.pop('name'): each for each in scene['joints']}
    assert joints['rope'] == {
        'type': 'distance',
        'between': ['pennant', 'weight'],
        'beside': None,
        'line': joints['rope']['line'],
    }
    assert joints['closer']['beside'] == 'hinge' and scene['settings']['sleep']['time'] == 0.5
    text = as_text(capsys, path)
    assert 'rope  distance of pennant and weight' in text and 'run by: sleep' in text


def test_a_scene(cart, capsys):
    """Show its objects and each of its robots, with their warnings."""
    path = cart.with_name('scene.yaml')
    path.write_text(SCENE)
    report = as_json(capsys, path)
    scene = report['scene']
    assert (report['kind'], scene['gravity'], scene['ground']) == ('scene', [0.0, 0.0, -1.6], {})
    assert scene['objects'] == [
        {
            'name': 'cube',
            'motion': 'dynamic',
            'shapes': ['box'],
            'mass': 2.0,
            'density': None,
            'line': 5,
        }
    ]
    one, two = scene['robots']
    assert (one['namespace'], one['file'], one['robot']['mass']['total']) == (
        'left',
        str(cart),
        5.0,
    )
    assert two['robot']['degrees_of_freedom']['total'] == 1
    assert any('wind' in finding['message'] for finding in report['findings'])
    text = as_text(capsys, path)
    assert 'cube  dynamic: box, 2 kg' in text
    assert "robot 'one' in namespace 'left'" in text
    path.write_text(SCENE.replace('pendulum', 'pendulm'))
    assert main(['check', str(path)]) == 1
    output = capsys.readouterr().out
    assert f'{path}:8: error' in output and "Did you mean 'pendulum'?" in output


@pytest.mark.parametrize(
    ('old', 'new', 'said'),
    [
        ('mass: 2.0', 'mass: 2.0, material: rubbr', "unknown material 'rubbr'"),
        ('urdf: pendulum', 'urdf: pendulum, joint_positions: {pivt: 1}', "Did you mean 'pivot'"),
    ],
)
def test_a_scene_that_a_world_refuses(old, new, said, cart, capsys):
    """Find errors that only a world build reveals."""
    path = cart.with_name('scene.yaml')
    path.write_text(SCENE.replace(old, new))
    assert main(['check', str(path)]) == 1
    assert re.search(said, capsys.readouterr().out)


PARAMETERS = """\
/**/sim_bridge:
  ros__parameters:
    robot: arm
    rate: 500
    control: {joint_1: position}
    use_sim_time: false
/left/pd_controller:
  ros__parameters:
    ramp_time: 2.0
"""


def test_parameters(tmp_path, capsys):
    """Show the nodes taking the parameters; name unknown names and rejected values, by line."""
    path = tmp_path / 'my.yaml'
    path.write_text(PARAMETERS)
    report = as_json(capsys, path)
    assert [block['taken_by'] for block in report['parameters']] == [
        ['sim_bridge'],
        ['pd_controller'],
    ]
    assert report['parameters'][0]['parameters'] == {
        'robot': 'arm',
        'rate': 500,
        'control.joint_1': 'position',
        'use_sim_time': False,
    }
    path.write_text(PARAMETERS.replace('rate: 500', 'rat: 500').replace('2.0', 'long'))
    assert main(['check', str(path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert any(
        line.startswith(f'{path}:4: warning') and "did you mean 'rate'?" in line for line in lines
    )
    assert any(
        line.startswith(f'{path}:9: error') and 'expected a finite number' in line
        for line in lines
    )
    path.write_text(PARAMETERS.replace('arm', 'amr'))
    assert main(['check', str(path)]) == 1
    assert "Did you mean 'arm'?" in capsys.readouterr().out


def test_shipped_files_are_sound(repository, capsys):
    """Find no errors in shipped parameters and scenes."""
    shipped = [*repository.glob('urdf/*.yaml'), *repository.glob('config/*.yaml')]
    assert shipped
    for path in shipped:
        report = as_json(capsys, path)
        assert not report['findings'], path


def test_other_yaml_is_reported(tmp_path, capsys):
    """Name the keys expected in a scene or parameter file."""
    path = tmp_path / 'loops.yaml'
    path.write_text('joints: []\n')
    assert main(['check', str(path)]) == 1
    assert '--extra-joints' in capsys.readouterr().out
