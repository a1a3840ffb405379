"""Reference pages generated from the code: Python, verbs, parameters, topics, YAML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
import inspect
import os
from pathlib import Path
from types import ModuleType
from typing import Any

import sim_bridge as sb
from sim_bridge.cli.main import build_parser, VERBS
from sim_bridge.control.parameter_file import TABLES
from sim_bridge.description.sensor_kinds import KINDS, MeasuredBy
from sim_bridge.ros.command.joint_controls import JointControls, NoNode
from sim_bridge.ros.interfaces import build, store
from sim_bridge.ros.params.parameter_table import BLOCK, specifications
from sim_bridge.ros.params.parameters import SimulatorParameters
from sim_bridge.ros.publish.sensor_topics import TOPICS
from sim_bridge.ros.session.loading import load_world
from sim_bridge.ros.session.simulator import Simulator
from sim_bridge.ros.wire.qos import is_latched

# chapters for public names, by the defining packages; every package is listed
CHAPTERS = {
    'Worlds': ('world', 'simulation'),
    'Robots, links and joints': ('robots',),
    'Sensors': ('sensors', 'sight'),
    'Shapes and materials': ('shapes',),
    'Trajectories': ('trajectory',),
    'Batches': ('batch',),
    'Identification and tuning': ('identification', 'tuning'),
    'Files and errors': ('description', 'foundation'),
}

# robots that together have every topic except SENSORS' topics
ROBOTS = ('arm', 'quadruped', 'rover', 'tracked_vehicle')
SENSORS = {
    kind.word: {'type': kind.word, 'link': 'tool_flange'}
    for kind in KINDS.values()
    if kind.measured_by is not MeasuredBy.MOTION
}

YAML = {
    'Scenes': 'sim_bridge.description.scene.scene',
    'Joints in scenes': 'sim_bridge.description.scene.joints',
    'Sensors': 'sim_bridge.description.yaml.sensors',
    'Studies of sweeps': 'sim_bridge.sweep.study',
    'Runs of sweeps': 'sim_bridge.sweep.plan',
}


def write_reference(folder: Path) -> list[str]:
    """Write the pages into a folder; return their paths relative to its parent, without suffix."""
    pages = {
        'verbs': _verbs(),
        'parameters': _parameters(),
        'topics_of_robots': _topics(),
        'yaml': _yaml(),
        'sensor_kinds': _sensor_kinds(),
        'python': _contents(chapter for chapter, _ in _chapters()),
        **{f'python_{_slug(title)}': text for title, text in _chapters()},
    }
    folder.mkdir()
    for name, text in pages.items():
        (folder / f'{name}.md').write_text(text)
    return [f'{folder.name}/{name}' for name in pages if not name.startswith('python_')]


def _slug(title: str) -> str:
    return title.lower().replace(',', '').replace(' ', '_')


def _contents(titles: Iterable[str]) -> str:
    listed = '\n'.join(f'python_{_slug(title)}' for title in titles)
    return f'# Python: every public name\n\n```{{toctree}}\n{listed}\n```\n'


def _chapters() -> Iterator[tuple[str, str]]:
    """Yield title and text of each page on public names."""
    things = {name: getattr(sb, name) for name in sb.__all__ if name != '__version__'}
    modules = {name: each for name, each in things.items() if isinstance(each, ModuleType)}
    chapter_of = {package: title for title, packages in CHAPTERS.items() for package in packages}
    names: dict[str, list[str]] = {title: [] for title in CHAPTERS}
    for name, thing in things.items():
        if name not in modules:
            names[chapter_of[thing.__module__.split('.')[1]]].append(name)
    for title, listed in names.items():
        yield title, _python_page(title, '', 'sim_bridge', [(n, things[n]) for n in listed])
    for name, module in modules.items():
        public = getattr(module, '__all__', None) or [
            each
            for each, thing in vars(module).items()
            if each[0] != '_' and getattr(thing, '__module__', '') == module.__name__
        ]
        yield (
            name,
            _python_page(
                f'sim_bridge.{name}',
                inspect.getdoc(module) or '',
                module.__name__,
                [(each, getattr(module, each)) for each in public],
            ),
        )


def _python_page(title: str, text: str, module: str, things: list[tuple[str, Any]]) -> str:
    directives = [f'# {title}', text, '```{eval-rst}', f'.. currentmodule:: {module}', '']
    for name, thing in things:
        kind = 'class' if isinstance(thing, type) else 'function' if callable(thing) else 'data'
        directives += [f'.. auto{kind}:: {module}.{name}', '']
    return '\n'.join([*directives, '```', ''])


def _verbs() -> str:
    """Return the page with each verb's help, as printed by its parser."""
    os.environ |= {'COLUMNS': '100', 'NO_COLOR': '1'}
    text = '# Verbs\n\nThe output of `sim_bridge VERB --help`.\n'
    for verb in VERBS:
        # a verb's parser is in the only action with choices
        (parser,) = (
            action.choices[verb] for action in build_parser((verb,))._actions if action.choices
        )
        text += f'\n## {verb}\n\n```text\n{parser.format_help()}```\n'
    return text


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [heads, ('---',) * len(heads), *rows]
    return '\n'.join(
        f'| {" | ".join(cell.replace("|", chr(92) + "|") for cell in line)} |' for line in lines
    )


def _parameters() -> str:
    """Return the page with all nodes' parameters, from their tables."""
    text = '# All parameters\n'
    for node, table in TABLES.items():
        rows = [
            (
                f'`{spec.name}`{".…" if spec.kind == BLOCK else ""}',
                f'`{spec.to_ros(spec.default)!r}`' if spec.kind != BLOCK else '',
                spec.description.replace('<', r'\<')
                + f'<br>{spec.accepted}'
                + ('' if spec.read_only else '; may be set at run time'),
            )
            for spec in specifications(table).values()
        ]
        text += (
            f'\n## {node}\n\n'
            + _table(('parameter', 'default', 'meaning, and what is accepted'), rows)
            + '\n'
        )
    return text


class _Outlet:
    """A topic without publications."""

    def __init__(self, topic: str) -> None:
        self.topic = topic

    def is_wanted(self) -> bool:
        return False

    def publish(self, message: object) -> None:
        pass

    def close(self) -> None:
        pass


class _Topics:
    """A sink that records the opened topics."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, ...]] = []

    def open(self, topic: str, message_type: type, qos: Any) -> _Outlet:
        kept = 'the last, for later subscribers' if is_latched(qos) else f'{qos.depth} messages'
        self.rows.append((f'`{topic}`', _type(message_type), kept))
        return _Outlet(topic)


def _type(message_type: type) -> str:
    return f'{message_type.__module__.split(".")[0]}/{message_type.__name__}'


def _topics() -> str:
    """Return the page with the topics published and taken by shipped robots."""
    if store.wheels() is not None:
        store.offer(build.build()[0])
    text = (
        '# Topics of shipped robots\n\nTopics opened by the node with `publish_tf:=true`, '
        'relative to its namespace. The arm has one additional sensor for each kind that no '
        'shipped robot has.\n'
    )
    for robot in ROBOTS:
        parameters = SimulatorParameters(
            robot=robot, publish_tf=True, sensors=SENSORS if robot == 'arm' else {}
        )
        sink = _Topics()
        simulator = Simulator(sink, load_world(parameters), parameters)
        JointControls(NoNode(), simulator.interfaces, parameters)
        taken = [
            (f'`{topic.name}`', _type(topic.message_type))
            for each in simulator.interfaces
            for topic in each.command_topics
        ]
        text += f'\n## {robot}\n\n' + _table(('published', 'type', 'queue'), sink.rows)
        text += '\n\n' + _table(('taken', 'type'), taken) + '\n'
    return text


def _yaml() -> str:
    """Return the page with YAML file keys, from their readers' docstrings."""
    text = '# Keys of YAML files\n'
    for title, name in YAML.items():
        module = __import__(name, fromlist=['__doc__'])
        head, _, body = inspect.getdoc(module).partition('\n\n')
        lines = body.splitlines()
        # the example is indented, prose is not
        blocks: list[str] = []
        was_code = False
        for line in lines:
            is_code = line.startswith('    ') or (was_code and not line.strip())
            if is_code != was_code:
                blocks.append('```yaml' if is_code else '```\n')
            blocks.append(line[4:] if is_code else line)
            was_code = is_code
        if was_code:
            blocks.append('```')
        text += f'\n## {title}\n\n{head}\n\n' + '\n'.join(blocks) + '\n'
    return text


def _sensor_kinds() -> str:
    """Return the page on all sensor kinds, from their records and topic rows."""
    text = '# Sensor kinds\n\nThe keys of all sensors are on the page of YAML files.\n'
    for kind in KINDS.values():
        quantities = ', '.join(
            f'`{each.name}`' + (f' [{each.unit}]' if each.unit else '') for each in kind.quantities
        )
        rows = [
            ('on', 'joint' if kind.on_joint else 'link'),
            ('quantities', quantities),
            ('noise', ', '.join(f'`{name}`' for name in kind.noisy) or 'none'),
            ('SDF', ', '.join(f'`{word}`' for word in (*kind.sdf_types, *kind.robot_types))),
            ('body files', ', '.join(f'`{word}`' for word in kind.body_types)),
            *((f'`{key}: {each.example}`', each.doc) for key, each in kind.keys.items()),
            *(
                (f'topic `<sensor>/{topic.suffix}`', _type(topic.message_type))
                for topic in TOPICS[kind.word]
            ),
        ]
        text += f'\n## {kind.word}\n\n{kind.doc[0].upper()}{kind.doc[1:]}.\n\n'
        text += _table(('', ''), [row for row in rows if row[1]]) + '\n'
    return text
