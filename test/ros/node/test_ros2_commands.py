"""Commands of `ros2` in documents and help texts, done to running nodes over rclpy."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
import re
import shlex

from lifecycle_msgs.msg import Transition
import pytest
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from shown import DOCUMENTS, help_of, REPOSITORY
import yaml

from sim_bridge.cli.launch_plan import ARGUMENTS
from sim_bridge.cli.main import VERBS

pytest_plugins = ['node_fixtures']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

# a crate beside an arm, as in services.md
SCENE = """
world:
  objects: {crate: {box: [0.2, 0.2, 0.2], mass: 1.0, position: [2.0, 0.0, 0.1]}}
  robots: {arm: {urdf: double_pendulum}}
"""

# parameters of the nodes that pages speak of
NODES = {
    'arm': {'robot': 'arm'},
    'scene': {'world': SCENE, 'paused': True},
    'rover': {'robot': 'rover'},
    'tracked_vehicle': {'robot': 'tracked_vehicle'},
    'excavator': {'robot': 'excavator'},
    'hand': {'robot': 'hand'},
}
PAGES = {
    'docs/drives.md': 'rover',
    'docs/grasp_over_topics.md': 'hand',
    'docs/joint_commands.md': 'tracked_vehicle',
    'docs/openplx.md': 'excavator',
    'docs/services.md': 'scene',
}

# commands that do not speak to the node, or not by names
ELSEWHERE = {'bag', 'interface', 'launch', 'lifecycle', 'run'}


def texts() -> Iterator[tuple[str, str]]:
    """Yield the documents and help texts: name, text."""
    for page in DOCUMENTS:
        yield str(page.relative_to(REPOSITORY)), page.read_text()
    for verb in VERBS:
        yield f'{verb} --help', help_of(verb)


def commands() -> Iterator[tuple[str, list[str]]]:
    """Yield the commands of `ros2` on lines, in comments and in backticks: source, words."""
    for source, text in texts():
        joined = text.replace('\\\n', ' ')
        for line in re.findall(r'^(?: *|.* # )ros2 (.*)', joined, re.MULTILINE):
            yield source, shlex.split(line, comments=True)
        for line in re.findall(r'`ros2 ([^`]* [^`]*)`', joined):
            yield source, shlex.split(line)


def node_for(source: str, words: list[str]) -> str:
    """Return the name of the node a command is for."""
    return 'arm' if 'control.joint_4' in words else PAGES.get(source, 'arm')


def kind_of(name: str, folder: str) -> type:
    """Return a message, service or action class; name: `package/Name` or `package/msg/Name`."""
    package, *_, kind = name.split('/')
    return getattr(import_module(f'{package}.{folder}'), kind)


def fill(message: object, values: dict) -> object:
    """Set a message's fields; an unknown field is an AttributeError."""
    for name, value in values.items():
        declared = message.get_fields_and_field_types()[name]
        if isinstance(value, dict):
            fill(getattr(message, name), value)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            (kind,) = re.findall(r'^sequence<(.*)>$', declared)
            setattr(message, name, [fill(kind_of(kind, 'msg')(), each) for each in value])
        else:
            setattr(message, name, value)
    return message


class Hand:
    """Does commands like `ros2`, in a node of its own."""

    def __init__(self, graph) -> None:
        """Take the test's node."""
        self.graph = graph

    def topic(self, verb: str, *words: str) -> None:
        """`ros2 topic echo` and `ros2 topic pub`."""
        name, *given = [word for word in words if not word.startswith('-') and word != '10']
        if verb == 'echo':
            self.graph.wait(lambda: self.graph.node.get_publishers_info_by_topic(name), name)
            return
        kind, text = given
        publisher = self.graph.advertise(kind_of(kind, 'msg'), name)
        publisher.publish(fill(kind_of(kind, 'msg')(), yaml.safe_load(text)))

    def service(self, verb: str, name: str, kind: str, text: str = '{}') -> None:
        """`ros2 service call`; the answer must tell of success."""
        assert verb == 'call'
        made = kind_of(kind, 'srv')
        answer = self.graph.call(made, name, fill(made.Request(), yaml.safe_load(text)))
        if hasattr(answer, 'result'):
            assert answer.result.result == answer.result.RESULT_OK, answer
        else:
            assert answer.success, answer

    def param(self, verb: str, node: str, name: str, text: str) -> None:
        """`ros2 param set`."""
        assert verb == 'set'
        value = yaml.safe_load(text)
        # ros2 passes text that is no value of a parameter's type as it is
        given = Parameter(name, value=text if isinstance(value, dict) else value)
        request = SetParameters.Request(parameters=[given.to_parameter_msg()])
        answer = self.graph.call(SetParameters, f'{node}/set_parameters', request)
        assert answer.results[0].successful, answer


def test_commands_elsewhere_are_taken():
    """Pass known arguments to the launch file, and known transitions to a managed node."""
    launch_arguments = {each.name for each in ARGUMENTS}
    seen = set()
    for source, (verb, *words) in commands():
        seen.add(verb)
        if verb == 'launch' and words[:1] == ['sim_bridge']:
            assert words[1] == 'sim_bridge.launch.py', source
            assert {word.partition(':=')[0] for word in words[2:]} <= launch_arguments, source
        elif verb == 'lifecycle':
            assert hasattr(Transition, f'TRANSITION_{words[2].upper()}'), source
        elif verb == 'run' and words[0] == 'sim_bridge':
            assert words[1] == 'sim_bridge', source
            assert words[2] in VERBS, source
    assert seen - ELSEWHERE == {'param', 'service', 'topic'}


@pytest.mark.parametrize('which', NODES)
def test_commands_succeed(graph, start_node, tmp_path, which):
    """Echo existing topics, publish to subscribers, get successful answers."""
    mine = [
        (source, words)
        for source, words in commands()
        if words[0] not in ELSEWHERE
        and node_for(source, words) == which
        and any(word.startswith('/') for word in words)  # not `ros2 topic pub` alone
    ]
    assert mine
    parameters = dict(NODES[which])
    if 'world' in parameters:
        (tmp_path / 'scene.yaml').write_text(parameters['world'])
        parameters['world'] = tmp_path / 'scene.yaml'
    start_node(**parameters)
    hand = Hand(graph)
    for source, (verb, *words) in mine:
        try:
            getattr(hand, verb)(*words)
        except (AssertionError, AttributeError, ImportError, KeyError, ValueError) as err:
            pytest.fail(f'{source}: ros2 {verb} {" ".join(words)}: {err!r}')
