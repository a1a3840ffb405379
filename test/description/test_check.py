"""`sim_bridge check`: output and exit status."""

from __future__ import annotations

import json

import pytest

from sim_bridge.cli.main import main

WARNED = '<robot name="r"><link name="l">\n<part/></link></robot>'
BROKEN = (
    '<robot name="r"><link name="l"/>\n'
    '<joint name="j" type="hinge"><parent link="l"/><child link="x"/></joint></robot>'
)


def run(*arguments: object) -> int:
    """Run the verb as from the command line."""
    return main(['check', *map(str, arguments)])


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a robot file."""

    def write(text: str, name: str = 'robot.urdf'):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def test_a_shipped_robot_has_no_defects(capsys):
    """Check a robot by name."""
    assert run('pendulum') == 0
    assert capsys.readouterr().out.endswith('pendulum.urdf: no defects found\n')


def test_warnings_leave_the_status_alone(write, capsys):
    """Print a warning in a form that editors can jump to."""
    path = write(WARNED)
    assert run(path) == 0
    assert capsys.readouterr().out.endswith(
        f"\n\n{path}:2: warning: link 'l' <part>: unknown tag, ignored [unknown-tag]\n"
        f'{path}: 1 warning\n'
    )


def test_errors_set_the_status(write, capsys):
    """Print every error, with line, names and value, and count them."""
    path = write(BROKEN)
    assert run(path) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(
        f"""{path}:2: error: joint 'j' type="hinge": unknown; the types are revolute"""
    )
    assert (
        lines[1] == f"""{path}:2: error: joint 'j' <child link="x">: """
        "no link has this name; there is 'l' [unknown-link]"
    )
    assert lines[2:] == [f'{path}: 2 errors']


def test_like_defects_are_grouped(write, capsys):
    """Print a defect shared by many elements once, with the lines of the others."""
    path = write('<robot name="r"><link name="l">' + '\n<part/>' * 12 + '</link></robot>')
    assert run(path) == 0
    first, last = capsys.readouterr().out.splitlines()[-2:]
    assert first.endswith('[unknown-tag] (and 11 more: lines 3, 4, 5, 6, 7, 8, 9, 10, …)')
    assert last == f'{path}: 12 warnings'


def test_unknown_details_of_a_part_share_a_line(write, capsys):
    """Name the other tags and attributes of a group, each once."""
    links = '<link name="l"><a/>\n<b/></link><link name="k"><a/></link>'
    path = write(f'<robot name="r">{links}</robot>')
    run(path)
    lines = [each for each in capsys.readouterr().out.splitlines() if '[unknown-tag]' in each]
    assert len(lines) == 1
    assert lines[0].endswith('(and 2 more: lines 2; also <b>)')


def test_json_holds_every_finding(write, capsys):
    """Print the whole report for programs."""
    path = write(BROKEN)
    assert run(path, '--json') == 1
    report = json.loads(capsys.readouterr().out)
    assert (report['source'], report['ok'], report['errors'], report['warnings']) == (
        str(path),
        False,
        2,
        0,
    )
    assert report['findings'][1] == {
        'severity': 'error',
        'code': 'unknown-link',
        'element': 'joint/child',
        'name': 'j',
        'attribute': 'link',
        'value': 'x',
        'line': 2,
        'message': "no link has this name; there is 'l'",
    }


CHAIN = (
    '<robot name="r"><link name="world"/>'
    + ''.join(
        f'<link name="{name}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0"'
        ' ixz="0" iyz="0"/></inertial></link>'
        for name in 'ab'
    )
    + '<joint name="i" type="continuous"><parent link="world"/><child link="a"/></joint>'
    '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>'
)
EXTRA = """\
joints:
  - {name: rod, type: distance, link1: b, link2: world, position2: [0, 0, 0.5], distance: 0.4}
"""


def test_loops_and_mobility(capsys):
    """Print the number of loop joints, the redundant constraints, and the mobility."""
    assert run('four_bar') == 0
    first, second = capsys.readouterr().out.splitlines()[-2:]
    assert first.endswith('four_bar.urdf: no defects found')
    assert second.endswith(
        'four_bar.urdf: 1 loop joint; freedoms 3, constraints 5, 3 of them redundant: mobility 1'
    )
    assert run('delta') == 0
    assert capsys.readouterr().out.endswith(
        '5 loop joints; freedoms 18, constraints 15: mobility 3\n'
    )


def test_loops_as_json(capsys):
    """Give programs every loop joint and the counts."""
    assert run('four_bar', '--json') == 0
    report = json.loads(capsys.readouterr().out)
    (loop,) = report['loops']
    assert (loop['name'], loop['type'], loop['link1'], loop['link2']) == (
        'coupler_rocker',
        'hinge',
        'coupler',
        'rocker',
    )
    assert loop['gap_at_zero'] < 1e-15
    assert report['mobility'] == {
        'freedoms': 3,
        'constraints': 5,
        'independent_constraints': 2,
        'mobility': 1,
    }
    assert run('pendulum', '--json') == 0
    report = json.loads(capsys.readouterr().out)
    assert (report['loops'], report['mobility']) == ([], None)


def test_extra_joints(write, capsys):
    """Add the loop joints from a file, and print their gaps at zero."""
    robot, extra = write(CHAIN), write(EXTRA, 'loops.yaml')
    assert run(robot, '--extra-joints', extra) == 0
    assert capsys.readouterr().out.splitlines()[-1] == (
        f"{robot}: 1 loop joint; open where all joints are at 0: 'rod' by 0.1 m; "
        'freedoms 2, constraints 1, 1 of them redundant: mobility 2'
    )


def test_defects_of_extra_joints(write, tmp_path, capsys):
    """Report them with file and line; report a missing file."""
    robot, extra = write(CHAIN), write(EXTRA.replace('link1: b', 'link1: c'), 'loops.yaml')
    assert run(robot, '--extra-joints', extra) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"""{extra}:2: error: joint 'rod' link1="c": """
        "no link has this name; there are 'world', 'a', 'b' [unknown-link]",
        f'{extra}: 1 error',
    ]
    assert run(robot, '--extra-joints', tmp_path / 'none.yaml') == 2
    error = capsys.readouterr().err
    assert 'none.yaml' in error and 'cannot be read' in error


def test_package_paths_and_xacro_arguments(write, tmp_path, capsys):
    """Pass both on, more than once."""
    (tmp_path / 'bot').mkdir()
    (tmp_path / 'bot' / 'a.stl').touch()
    path = write(
        '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
        '<xacro:arg name="file" default=""/><xacro:arg name="tag" default=""/>'
        '<link name="l"><visual><geometry>'
        '<mesh filename="package://bot/$(arg file)"/></geometry></visual>'
        '</link></robot>',
        'robot.xacro',
    )
    arguments = [path, '--xacro-arg', 'file:=a.stl', '--xacro-arg', 'tag:=b:=c']
    outside = tmp_path / 'elsewhere'
    assert run(*arguments, '--package-path', outside, '--package-path', tmp_path) == 0
    assert capsys.readouterr().out.endswith(f'\n\n{path} (expanded): no defects found\n')


@pytest.mark.parametrize(
    'arguments', [['no_such_robot'], ['no/such/file.urdf'], ['no/such/scene.yaml']]
)
def test_wrong_usage(arguments, capsys):
    """Print the error on stderr, with a separate exit status."""
    assert run(*arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ''
    assert captured.err.startswith('sim_bridge check: ')


def test_an_unreadable_file(write, capsys, monkeypatch):
    """Distinguish an unreadable file from a faulty one."""
    path = write(WARNED)

    def refuse(path):
        raise PermissionError(13, 'Permission denied')

    monkeypatch.setattr('sim_bridge.description.xml.document.read_file', refuse)
    assert run(path) == 2
    error = capsys.readouterr().err
    assert error.startswith('sim_bridge check: ')
    assert str(path) in error and 'cannot be read: Permission denied' in error


def test_no_robot_is_wrong_usage(capsys):
    """Leave usage errors to argparse: exit code 2."""
    with pytest.raises(SystemExit) as caught:
        run()
    assert caught.value.code == 2
    assert 'FILE' in capsys.readouterr().err
    with pytest.raises(SystemExit) as caught:
        run('pendulum', '--xacro-arg', 'mass=1')
    assert caught.value.code == 2
    assert 'mass=1' in capsys.readouterr().err
