"""Command `sim_bridge`: verbs, forwarded arguments, error messages."""

from __future__ import annotations

import argparse
import importlib.util
import os
from pathlib import Path
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from sim_bridge.cli import main as cli
from sim_bridge.cli import run as run_verb
from sim_bridge.cli.console import Console
from sim_bridge.cli.main import build_parser, main
from sim_bridge.cli.page_address import PageAddress
from sim_bridge.cli.simulated import check_simulated
from sim_bridge.cli.watch import Progress
from sim_bridge.description.controllers import CONTROLLERS
from sim_bridge.description.resources import gallery_scenes
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.ros.node import main as ros_main
from sim_bridge.ros.page.address import announcement
from sim_bridge.ros.params.node_arguments import parameter_in
from sim_bridge.ros.params.parameters import SimulatorParameters
from sim_bridge.ros.process.discovery import discovery_defaults
from sim_bridge.ros.session.loading import load_world
from sim_bridge.trust.child import python_module

TABLE = str(Path(__file__).resolve().parents[2] / 'config' / 'world_table.yaml')


def parse_run(*arguments: str) -> argparse.Namespace:
    """Parse the arguments of `sim_bridge run` like the command."""
    parser = argparse.ArgumentParser()
    run_verb.add_parser(parser.add_subparsers())
    args = parser.parse_args(['run', *arguments])
    args.forwarded = []
    return args


def test_version_alone(repository, capsys):
    """Print it in one line for the usual options."""
    version = ElementTree.parse(repository / 'package.xml').findtext('version')
    for option in ('-V', '--version'):
        with pytest.raises(SystemExit) as ending:
            main([option])
        assert ending.value.code == 0
        assert capsys.readouterr().out == f'sim_bridge {version}\n'


@pytest.mark.parametrize('verb', cli.VERBS)
def test_help_fits_and_has_examples(verb, capsys, monkeypatch):
    """End all but the simplest verbs' help with examples, in lines that fit."""
    monkeypatch.setenv('COLUMNS', '100')
    with pytest.raises(SystemExit):
        main([verb, '--help'])
    text = capsys.readouterr().out
    assert all(len(line) <= 100 for line in text.splitlines())
    has_examples = verb not in ('compile', 'gallery', 'version')
    assert (f'  sim_bridge {verb} ' in text.partition('for example:')[2]) == has_examples


def test_version_is_that_of_package_xml(repository):
    """Print the version from package.xml."""
    manifest = ElementTree.parse(repository / 'package.xml')
    output = subprocess.run(
        [sys.executable, '-m', 'sim_bridge', 'version'], capture_output=True, text=True, check=True
    ).stdout
    assert output.splitlines()[0].startswith(f'sim_bridge {manifest.findtext("version")} ')


def test_help_lists_every_verb(capsys):
    """Show all verbs and end with 0 on --help."""
    with pytest.raises(SystemExit) as ending:
        main(['--help'])
    assert ending.value.code == 0
    output = capsys.readouterr().out
    assert all(f'\n    {verb} ' in output for verb in cli.VERBS)


@pytest.mark.parametrize('arguments', [[], ['fly'], ['run', '--speed'], ['version', 'now']])
def test_wrong_usage_ends_with_2(arguments, capsys):
    """Refuse missing and unknown verbs and arguments, with the usage."""
    with pytest.raises(SystemExit) as ending:
        main(arguments)
    assert ending.value.code == cli.USAGE_ERROR
    error = capsys.readouterr().err
    assert 'usage: sim_bridge' in error
    assert not arguments or arguments[-1] in error


def test_node_gets_its_ros_arguments(monkeypatch):
    """Forward arguments after the verb or a bare `--` to the node, and return its exit code."""
    seen = []
    monkeypatch.setattr(ros_main, 'main', lambda args: seen.append(args[1:]) or 7)
    arguments = ['--ros-args', '-p', 'robot:=pendulum', '-r', '__ns:=/left']
    assert main(['node', *arguments]) == 7
    assert main(['node', '--', *arguments]) == 7
    assert seen == [arguments, arguments]


@pytest.mark.parametrize('arguments', [['--ros-args', '-p'], ['--', 'pendulum']])
def test_node_refuses_other_arguments(arguments, capsys):
    """Name arguments silently dropped by ROS, or causing a failure there."""
    assert main(['node', *arguments]) == cli.USAGE_ERROR
    error = capsys.readouterr().err
    assert error.startswith('sim_bridge node: ')
    assert arguments[-1] in error


@pytest.mark.parametrize(
    'arguments', [['run'], ['node'], ['record', '-o', 'x', '--duration', '1'], ['replay', 'x']]
)
def test_missing_ros_is_explained(arguments, monkeypatch, capsys):
    """Name all three ways to get ROS 2 if rclpy is missing."""
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, 'find_spec', lambda name: None if name == 'rclpy' else find_spec(name)
    )
    assert main(arguments) == cli.USAGE_ERROR
    error = capsys.readouterr().err
    for remedy in ('Source the setup file', "pip install -e '.[ros]'", 'make run'):
        assert remedy in error


@pytest.mark.parametrize(
    ('arguments', 'missing', 'hint'),
    [
        (['plot', '{}', 'a.b'], 'plotly', '"sim_bridge[plot]", or in a clone `make tools`'),
        (['plot', '{}', 'a.b', '-o', 'x.png'], 'matplotlib', '`make tools`'),
        (['view', '{}'], 'viser', '"sim_bridge[view]", or in a clone `make tools`'),
        (['view', '{}', '--html', 'x.html'], 'viser', '`make tools`'),
        (['view', '{}', '--output', 'x.png'], 'vtkmodules', '"sim_bridge[film]"'),
        (['view', '{}', '--output', 'x.mp4'], 'imageio_ffmpeg', '`make tools FILM=1`'),
        (['view', 'arm'], 'viser', '`make tools`'),
        (['run', 'arm', '--view'], 'viser', '`make tools`'),
    ],
)
def test_missing_libraries_are_reported_before_anything_is_read(
    arguments, missing, hint, monkeypatch, capsys, tmp_path
):
    """Name the package to install, before reading even an unreadable bag."""
    (tmp_path / 'none.mcap').write_bytes(b'no bag')
    find_spec = importlib.util.find_spec
    # drawing packages may be missing here, too
    monkeypatch.setattr(
        importlib.util,
        'find_spec',
        lambda name: (
            None if name == missing else find_spec('json' if name == 'vtkmodules' else name)
        ),
    )
    bag = str(tmp_path / 'none.mcap')
    assert main([each.format(bag) for each in arguments]) == cli.USAGE_ERROR
    assert hint in capsys.readouterr().err


def after_python(command: list[str]) -> list[str]:
    """Return the module run by a command, and its arguments."""
    start = python_module('')
    assert command[: len(start) - 1] == start[:-1]
    return command[len(start) - 1 :]


def test_run_passes_options_to_the_simulator():
    """Turn given options, and no others, into parameters; forward the rest last."""
    args = parse_run('arm.urdf', '--rate', '500', '--real-time-factor', '0', '--paused')
    args.forwarded = ['-p', 'seed:=3']
    command = run_verb.build_commands(args)['simulator']
    assert command[command.index('--ros-args') :] == [
        '--ros-args',
        '-p',
        'robot:=arm.urdf',
        '-p',
        'rate:=500.0',
        '-p',
        'real_time_factor:=0.0',
        '-p',
        'paused:=true',
        '-p',
        'seed:=3',
    ]
    command = run_verb.build_commands(parse_run())['simulator']
    assert command[-1] == '--ros-args'
    command = run_verb.build_commands(parse_run('--record', 'bag'))['simulator']
    assert command[-2:] == ['-p', 'record:=bag']
    command = run_verb.build_commands(parse_run('--view', '--port', '8080'))['simulator']
    assert command[-4:] == ['-p', 'view:=true', '-p', 'view_port:=8080']


@pytest.mark.parametrize(
    ('what', 'given'), [('arm', ['robot:=arm']), (TABLE, [f'world:={TABLE}'])]
)
def test_view_runs_without_a_controller(what, given, monkeypatch):
    """Take a robot or a scene; commands come from the page."""
    args = build_parser(['view']).parse_args(['view', what, '--no-browser'])
    args.forwarded = []
    monkeypatch.setattr(run_verb, 'run', run_verb.build_commands)
    commands = args.run(args)
    assert list(commands) == ['simulator']
    words = commands['simulator']
    assert [word for word in words if ':=' in word] == [*given, 'view:=true']


@pytest.mark.parametrize(
    ('is_terminal', 'display', 'opened'), [(True, ':0', 1), (True, '', 0), (False, ':0', 0)]
)
def test_a_browser_opens_on_a_terminal_with_a_display(is_terminal, display, opened, monkeypatch):
    """Find the address in the simulator's output, once."""
    calls: list[str] = []
    monkeypatch.setattr('sim_bridge.cli.page_address.webbrowser.open', calls.append)
    monkeypatch.setattr('sys.platform', 'linux')
    monkeypatch.setenv('DISPLAY', display)
    monkeypatch.delenv('WAYLAND_DISPLAY', raising=False)
    stream = Terminal()
    monkeypatch.setattr(stream, 'isatty', lambda: is_terminal)
    page = PageAddress(Console(stream), opens_browser=True)
    url = 'http://127.0.0.1:8080/?token=a-B_c'
    for line in ('[simulator] starts', f'[simulator] [INFO] {announcement(url)}', 'more') * 2:
        page.line(line)
    assert calls == [url] * opened
    assert page.url == url
    assert url in stream.text
    status = run_verb.describe(Progress(time_s=1.0, topic_count=4), url)
    assert status == f'simulator | {url} | 1.0 s simulated | 4 topics'


def test_a_project_is_the_world_and_gives_its_parameters(repository):
    """Let the user's settings override a project's rate and solver."""
    project = str(Path(repository, 'config', 'yard', 'yard.cnoid'))
    commands = run_verb.build_commands(parse_run(project, '--rate', '100'))
    given = commands['simulator']
    assert given[given.index('--ros-args') :] == [
        '--ros-args',
        '-p',
        'rate:=500.0',
        '-p',
        'solver:=direct',
        '-p',
        f'world:={project}',
        '-p',
        'rate:=100.0',
    ]
    assert list(commands) == ['simulator', 'gate controller']
    with pytest.raises(SystemExit):
        parse_run('--world', 'a.yaml', project)
    with pytest.raises(InvalidValueError, match='no world together with the scene'):
        check_simulated(parse_run(project, '--world', 'a.yaml'))


def test_a_scene_of_the_gallery_has_parameters_and_controllers(repository):
    """Give both nodes the parameters beside the scene; start no controller if it has none."""
    gallery = repository / 'gallery'
    commands = run_verb.build_commands(parse_run('gallery/grasp'))
    given = commands['simulator']
    assert given[given.index('--ros-args') + 1 :] == [
        '--params-file',
        str(gallery / 'grasp.params.yaml'),
        '-p',
        f'world:={gallery / "grasp.yaml"}',
    ]
    beside = [str(repository / 'urdf' / 'hand.params.yaml'), str(gallery / 'grasp.params.yaml')]
    given = commands['hand controller']
    assert given[given.index('--ros-args') + 1 :] == [
        '-r',
        '__ns:=/hand',
        '--params-file',
        beside[0],
        '--params-file',
        beside[1],
    ]
    assert 'sim_bridge.control.pd_controller' in given
    assert list(run_verb.build_commands(parse_run('gallery/rover_swarm'))) == ['simulator']
    with pytest.raises(SystemExit):
        parse_run('--world', 'a.yaml', 'gallery/grasp')


def test_gallery_lists_shipped_scenes(capsys):
    """Print a line for each scene, with its description."""
    assert main(['gallery']) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(gallery_scenes())
    (line,) = (line for line in lines if line.startswith('gallery/dominoes'))
    assert line.split(maxsplit=1)[1].startswith('A ball hits the first of 24 dominoes')


def test_check_shows_a_scene_of_the_gallery(capsys):
    """Accept its name."""
    assert main(['check', 'gallery/conveyor']) == 0
    output = capsys.readouterr().out
    assert output.startswith('Three parcels ride')
    assert output.endswith('gallery/conveyor.yaml: no defects found\n')


@pytest.mark.parametrize('verb', ['run', 'node', ('record', '-o', 'x', '--duration', '1')])
@pytest.mark.parametrize(
    ('arguments', 'said'),
    [
        (['rovr'], "unknown robot 'rovr'.*Did you mean 'rover'.*arm, biped, clock"),
        (['rovr.urdf'], "robot = 'rovr.urdf'.*arm, biped, clock.*did you mean 'rover'"),
        (['package://bot/rover.urdf'], "package 'bot' is not found"),
        (['gallery/domino'], "unknown scene 'gallery/domino'.*Did you mean 'gallery/dominoes'"),
        (['--world', 'gallery/'], 'gallery/breaking_bridge.*gallery/wrecking_ball'),
        (['-p', 'rat:=5'], "unknown parameter 'rat'.*Did you mean 'rate'"),
        (['-p', 'ramp_time:=5'], "'ramp_time' in node 'sim_bridge'; it belongs to .*pd_contr"),
        (['-p', 'rate=5'], 'NAME:=VALUE'),
        (['--params', __file__], r'parameter file = .*test_cli\.py.*ros__parameters'),
    ],
)
def test_named_robots_and_parameters_must_exist(verb, arguments, said, capsys):
    """Refuse unknown robots and parameters with the same message in all verbs."""
    try:
        code = main([*([verb] if isinstance(verb, str) else verb), *arguments])
    except SystemExit as err:
        # for unknown names
        code = err.code
    assert code == cli.USAGE_ERROR
    text = capsys.readouterr().err
    assert re.search(said, text)
    assert 'gallery' not in said or 'usage:' not in text


def test_a_misspelt_bag_is_reported_with_similar_names(tmp_path, monkeypatch, capsys):
    """Report that it does not exist, with the likely one, in all verbs for bags."""
    (tmp_path / 'swing').mkdir()
    (tmp_path / 'swing' / 'metadata.yaml').write_text('')
    monkeypatch.chdir(tmp_path)
    for words, said in (
        (['info', 'swnig'], "bag 'swnig' does not exist; did you mean 'swing'?"),
        (['plot', 'swnig', 'a.b'], "that exists; did you mean 'swing'?"),
        (['view', 'swnig'], "unknown robot, world file or bag 'swnig'. Did you mean 'swing'?"),
    ):
        assert main(words) == cli.USAGE_ERROR
        assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    'arguments',
    [
        ['run', '--', '--ros-args', '-p', 'rat:=5'],
        ['node', '--ros-args', '-p', 'rat:=5'],
        ['node', '--ros-args', '--param', 'sim_bridge:rat:=5'],
    ],
)
def test_ros_arguments_must_exist(arguments, capsys):
    """Refuse unknown parameters among ROS arguments, too."""
    assert main(arguments) == cli.USAGE_ERROR
    assert "unknown parameter 'rat'" in capsys.readouterr().err


def test_parameters_of_others_are_left_to_ros(monkeypatch):
    """Forward parameters declared by rclpy, members of blocks, and other nodes' parameters."""
    seen = []
    monkeypatch.setattr(ros_main, 'main', lambda args: seen.append(args[1:]) or 0)
    arguments = [
        '--ros-args',
        '-p',
        'use_sim_time:=true',
        '-p',
        'control.elbow:=position',
        '-p',
        'other:rat:=5',
        '-p',
        'qos_overrides./clock.publisher.depth:=5',
    ]
    assert main(['node', *arguments]) == 0
    assert seen == [arguments]


def test_node_takes_the_arguments_of_run(monkeypatch, repository):
    """Turn a robot and options into ROS arguments, with the parameters beside the robot."""
    seen = []
    monkeypatch.setattr(ros_main, 'main', lambda args: seen.append(args[1:]) or 0)
    assert (
        main(
            [
                'node',
                'quadruped',
                '--rate',
                '500',
                '-p',
                'seed:=3',
                '--package-path',
                'a b',
                '--namespace',
                'left',
                '--managed',
                '--ros-args',
                '--log-level',
                'debug',
            ]
        )
        == 0
    )
    assert seen == [
        [
            '--ros-args',
            '-r',
            '__ns:=/left',
            '--params-file',
            str(repository / 'urdf' / 'quadruped.params.yaml'),
            '-p',
            'robot:=quadruped',
            '-p',
            'rate:=500.0',
            '-p',
            'package_paths:=["a b"]',
            '-p',
            'seed:=3',
            '--',
            '--ros-args',
            '--log-level',
            'debug',
            '--managed',
        ]
    ]


@pytest.mark.parametrize('verb', ['check', 'replay', 'version'])
def test_arguments_after_dashes_are_not_lost(verb, capsys):
    """Refuse them if no process would receive them."""
    with pytest.raises(SystemExit) as ending:
        main([verb, *(['arm'] if verb != 'version' else []), '--', 'more'])
    assert ending.value.code == cli.USAGE_ERROR
    assert 'unrecognized arguments: more' in capsys.readouterr().err


def test_output_that_nobody_reads():
    """End silently if the output is closed, as after `| head`."""
    reader, writer = os.pipe()
    os.close(reader)
    process = subprocess.run(
        [sys.executable, '-m', 'sim_bridge', 'check', 'arm', '--json'],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writer)
    assert (process.stderr, process.returncode) == ('', cli.UNREAD)


PACKAGE = {
    'bot/package.xml': '<package><name>bot</name></package>',
    'bot/urdf/bot.xacro': """<robot name="bot" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:include filename="$(find bot)/urdf/part.xacro"/>
<xacro:include filename="$(dirname)/more.xacro"/>
<xacro:arg name="tip" default="tip"/>
<link name="$(arg tip)"/>
<joint name="fixed" type="fixed"><parent link="body"/><child link="$(arg tip)"/></joint>
</robot>""",
    'bot/urdf/part.xacro': """<robot xmlns:xacro="http://www.ros.org/wiki/xacro">
<link name="world"/></robot>""",
    'bot/urdf/more.xacro': """<robot xmlns:xacro="http://www.ros.org/wiki/xacro">
<link name="body"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
iyz="0"/></inertial></link>
<joint name="hinge" type="continuous"><parent link="world"/><child link="body"/></joint>
</robot>""",
    'bot/urdf/bot.params.yaml': '/**/velocity_controller:\n  ros__parameters: {}\n',
}


def run_apart(*arguments: str) -> str:
    """Run the command in a separate process, far from any package; return its output."""
    environment = {
        name: value for name, value in os.environ.items() if name != 'AMENT_PREFIX_PATH'
    }
    environment['PYTHONPATH'] = os.pathsep.join(filter(None, map(os.path.abspath, sys.path)))
    return subprocess.run(
        [sys.executable, '-m', 'sim_bridge', *arguments],
        env=environment,
        cwd='/',
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout


def test_packages_are_found_without_ros_in_every_verb(tmp_path):
    """Load package:// with $(find) and $(dirname) by --package-path, and files beside it."""
    for name, text in PACKAGE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    robot = [
        'package://bot/urdf/bot.xacro',
        '--package-path',
        str(tmp_path),
        '--xacro-arg',
        'tip:=end',
    ]
    assert 'fixed -> end' in run_apart('check', *robot)
    bag = str(tmp_path / 'bag')
    run_apart('record', *robot, '-o', bag, '--duration', '0.01')
    assert run_apart('replay', bag).endswith('the same\n')
    beside = ['--params-file', str(tmp_path / 'bot' / 'urdf' / 'bot.params.yaml')]
    commands = run_verb.build_commands(parse_run(*robot))
    assert after_python(commands['controller']) == [
        'sim_bridge.control.velocity_controller',
        '--ros-args',
        *beside,
    ]
    given = after_python(commands['simulator'])[3:]
    assert given == [
        *beside,
        '-p',
        f'robot:={robot[0]}',
        '-p',
        f'package_paths:=["{tmp_path}"]',
        '-p',
        'xacro_args:=["tip:=end"]',
    ]
    # parameters as read by the node
    parameters = {
        name: value for word in given[3::2] for name, value in parameter_in(word).items()
    }
    world = load_world(
        SimulatorParameters(
            robot=parameters['robot'],
            package_paths=tuple(parameters['package_paths']),
            xacro_args=tuple(parameters['xacro_args']),
        )
    ).world
    assert [link.name for link in world.robots['bot'].links] == ['world', 'body', 'end']


def test_run_gives_namespace_and_parameter_file_to_both():
    """Start both nodes in the namespace, with the parameter file."""
    commands = run_verb.build_commands(parse_run('--namespace', 'left', '--params', 'my.yaml'))
    assert list(commands) == ['simulator', 'controller']
    for command in commands.values():
        assert command[-4:] == ['-r', '__ns:=/left', '--params-file', 'my.yaml']


@pytest.mark.parametrize('controller', CONTROLLERS)
def test_controllers_of_run_exist(controller):
    """Offer only available controllers."""
    commands = run_verb.build_commands(parse_run('--controller', controller))
    module = after_python(commands['controller'])[0]
    assert importlib.util.find_spec(module) is not None


@pytest.mark.parametrize(
    ('robot', 'controller'),
    [
        ('arm', 'pd'),
        ('quadruped', 'pd'),
        ('four_bar', 'velocity'),
        ('delta', 'velocity'),
        ('crank_slider', 'velocity'),
        ('tracked_vehicle', 'velocity'),
        ('rover', 'square'),
        ('nobody', 'pd'),
    ],
)
def test_run_chooses_the_controller_that_the_robot_is_for(robot, controller):
    """Take the one with parameters beside the robot, unless the user names another."""
    command = run_verb.build_commands(parse_run(robot))['controller']
    assert after_python(command)[0] == f'sim_bridge.control.{controller}_controller'
    commands = run_verb.build_commands(parse_run(robot, '--controller', 'computed_torque'))
    module = after_python(commands['controller'])[0]
    assert module == 'sim_bridge.control.computed_torque_controller'


def test_run_without_controller():
    """Start the simulator alone."""
    assert list(run_verb.build_commands(parse_run('--controller', 'none'))) == ['simulator']


def test_discovery_is_local_unless_the_user_decided():
    """Limit discovery to this machine by default, but respect the user's settings."""
    assert discovery_defaults({}) == {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}
    assert discovery_defaults({'ROS_STATIC_PEERS': '10.0.0.2'}) == {}
    assert discovery_defaults({'ROS_AUTOMATIC_DISCOVERY_RANGE': 'SUBNET'}) == {}


STRANGER = """
import os, sys
from sim_bridge.foundation.errors import StateError
from sim_bridge.ros.process.process import run
def refuse(node):
    raise StateError(os.environ.get('ROS_AUTOMATIC_DISCOVERY_RANGE'))
sys.exit(run('stranger', refuse))
"""


@pytest.mark.parametrize('given', [None, 'SUBNET'])
def test_every_node_keeps_to_this_machine(start_process, ros_environment, given):
    """Limit discovery in each node's process, however it is started."""
    environment = dict(ros_environment)
    del environment['ROS_AUTOMATIC_DISCOVERY_RANGE']
    if given is not None:
        environment['ROS_AUTOMATIC_DISCOVERY_RANGE'] = given
    output, _ = start_process('-c', STRANGER, env=environment).communicate()
    assert output.splitlines()[-1].endswith(given or 'LOCALHOST')


def test_status_shows_known_facts():
    """Omit unknown facts from the status, and add anomalies."""
    progress = Progress(time_s=1.25, topic_count=4)
    assert run_verb.describe(progress) == 'simulator | 1.2 s simulated | 4 topics'
    progress = Progress(
        robots=('arm',),
        time_s=2.0,
        rate_hz=999.96,
        condition='paused',
        pacing={'real time factor': '1.0000', 'missed deadlines since start': '3'},
        topic_count=4,
        publisher_count=2,
    )
    assert run_verb.describe(progress) == (
        'arm | paused | 2.0 s simulated | joint_states at 1000.0 Hz | real time factor 1.0000 | '
        '3 missed deadlines since start | 4 topics | '
        '2 publishers of joint_states: set another ROS_DOMAIN_ID'
    )


class Terminal:
    """A terminal stream that remembers the written text."""

    def __init__(self):
        self.text = ''

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> None:
        self.text += text

    def flush(self) -> None:
        pass


def test_lines_scroll_above_the_status_of_a_terminal():
    """Erase the status, write the line, and write the status again below it."""
    terminal = Terminal()
    console = Console(terminal)
    console.status('one')
    console.line('a line')
    console.status('two')
    console.end_status()
    erase = '\r\x1b[2K'
    assert terminal.text == f'one{erase}a line\none{erase}two\n'
