"""
Run plan: robot or scene, controllers, disturbances; plain data.

    robot: arm                     # as the parameter `robot`; or
    scene: hall.yaml               # scene file, or gallery/NAME; paths start at the study
    duration: 2.0                  # s
    params: mine.yaml              # parameter file for the nodes
    parameters: {rate: 500}        # simulator parameters; they override files
    changes: {arm: {joints: {joint_2: {friction: 0.5}}}}   # at the start, as ~/apply_changes
    controller: {kind: pd, natural_frequency: 40}          # for the only robot; or
    controllers: {left: {kind: pd}, right: {kind: none}}   # by namespace
    disturbances:
      push: {kind: push, at: 0.5, duration: 0.1, link: hand, force: [30, 0, 0]}

Controllers: `kind` is pd, computed_torque or velocity, with the parameters of this node; function,
with `call: file.py:name` and arguments; node, with `command`, a controller of this package or a
list of words, and its `parameters`; none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
import math
from types import MappingProxyType
from typing import Any

from sim_bridge.description.gravity import GREATEST_GRAVITY
from sim_bridge.description.report import Findings
from sim_bridge.description.yaml.overlay import overlaid, Path
from sim_bridge.description.yaml.section import Section

WORLD = 'world'
"""First key of input paths into the scene file."""

LAWS = ('pd', 'computed_torque', 'velocity')
FUNCTION, NODE, NO_CONTROLLER = 'function', 'node', 'none'
KINDS = (*LAWS, FUNCTION, NODE, NO_CONTROLLER)

# parameters with their own key in the study, or without meaning in runs without a graph
_REFUSED = {
    'world': 'the key scene',
    'robot': 'the key robot',
    'world_values': 'inputs of world.…',
    'lockstep': 'a controller of kind node',
    'changes': 'the key changes',
    'paused': '',
    'real_time_factor': '',
    'view': '',
    'view_port': '',
    'diagnostics_rate': '',
}


@dataclass(frozen=True)
class ControllerPlan:
    """
    A robot's controller.

    kind: one of KINDS. call: function, file.py:name. command: words for a node's command; one
    of LAWS stands for its node. parameters: controller parameters. patience: time limit for a
    node's answer [s].
    """

    kind: str = NO_CONTROLLER
    call: str = ''
    command: tuple[str, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    patience: float = 60.0


@dataclass(frozen=True)
class Disturbance:
    """
    Disturbance in a run.

    kind: key of DISTURBANCES. begin: s. end: s, inf for never. robot: entity, or controller
    namespace; '' for the only one. values: further values for the kind.
    """

    name: str
    kind: str
    begin: float
    end: float
    robot: str
    values: Mapping[str, Any]


@dataclass(frozen=True)
class Plan:
    """
    One run.

    world_values: values in the scene file, by path. controllers: by namespace; '' stands for the
    only robot, in any namespace.
    """

    robot: str
    scene: str
    duration: float
    params: str
    parameters: Mapping[str, Any]
    world_values: Mapping[Path, Any]
    changes: Mapping[str, Any]
    controllers: Mapping[str, ControllerPlan]
    disturbances: tuple[Disturbance, ...]


def read_plan(
    content: Mapping[str, Any], values: Mapping[Path, Any], findings: Findings, line: int = 0
) -> Plan:
    """
    Return a run's plan.

    content: a study's section `run`. values: input values, by path. Defects are reported in
    findings; raises InvalidValueError for a path without a target.
    """
    own = {path: value for path, value in values.items() if path[0] != WORLD}
    run = Section(overlaid(content, own), 'run', findings, line)
    robot, scene = run.text('robot', ''), run.text('scene', '')
    if run.has('robot') and run.has('scene'):
        run.error('scene', scene, 'robot is given too; keep one')
    in_scene = {path[1:]: value for path, value in values.items() if path[0] == WORLD}
    if in_scene and not scene:
        run.error('scene', '', 'missing: inputs are values of a scene file')
    duration = run.number('duration', None)
    if duration is None or not 0.0 < duration < math.inf:
        if duration is not None or not run.has('duration'):
            run.error('duration', duration, 'must be a time above 0 [s]')
        duration = 1.0
    plan = Plan(
        robot,
        scene,
        duration,
        run.text('params', ''),
        _parameters(run),
        in_scene,
        run.mapping('changes'),
        _controllers(run),
        tuple(
            found
            for each in run.sections('disturbances')
            if (found := _disturbance(each)) is not None
        ),
    )
    run.close()
    return plan


def _parameters(run: Section) -> Mapping[str, Any]:
    section = run.section('parameters')
    for name in () if section is None else section.names():
        assert section is not None
        if name in _REFUSED or name.startswith('record'):
            instead = _REFUSED.get(name, '')
            section.error(
                name,
                section.peek(name),
                'is not a parameter of runs' + (f': it is {instead}' if instead else ''),
            )
    return {} if section is None else run.mapping('parameters')


def _controllers(run: Section) -> Mapping[str, ControllerPlan]:
    if run.has('controller') and run.has('controllers'):
        run.error('controllers', '', 'controller is given too; keep one')
    if isinstance(run.peek('controller'), str):
        kind = run.choice('controller', (*LAWS, NO_CONTROLLER), NO_CONTROLLER)
        return {'': ControllerPlan(kind)}
    found = {each.name: _controller(each) for each in run.sections('controllers')}
    own = run.section('controller')
    return found if own is None else {'': _controller(own)}


def _controller(section: Section) -> ControllerPlan:
    kind = section.choice('kind', KINDS, NO_CONTROLLER)
    if not section.has('kind'):
        section.error('kind', '', f'missing; one of {", ".join(KINDS)}')
    if section.peek('kind') not in KINDS:
        # the allowed keys are unknown
        for name in section.names():
            section.knows(name)
    if kind == NODE:
        command = section.peek('command')
        section.knows('command')
        is_word = isinstance(command, str) and bool(command)
        words = (command,) if is_word else section.texts('command') or ()
        if not words:
            section.error(
                'command',
                command,
                'must be pd, computed_torque or velocity, or the words of a command',
            )
        patience = section.number('patience', ControllerPlan.patience)
        if not patience > 0.0:
            section.error('patience', patience, 'must be a time above 0 [s]')
        parameters = section.mapping('parameters')
        section.close()
        return ControllerPlan(kind, '', tuple(words), parameters, patience)
    call = ''
    if kind == FUNCTION:
        call = section.text('call', '', required=True)
        if call and (':' not in call or not call.rpartition(':')[2].isidentifier()):
            section.error('call', call, 'must be file.py:name, or module:name')
    known = ('kind', *(('call',) if kind == FUNCTION else ()))
    parameters = {name: section.peek(name) for name in section.names() if name not in known}
    if kind == NO_CONTROLLER:
        section.close()
    return ControllerPlan(kind, call, (), parameters)


def _push(section: Section) -> Mapping[str, Any]:
    return {'link': section.text('link', None), 'force': _needed(section, 'force', 3)}


def _change(section: Section) -> Mapping[str, Any]:
    changes = section.mapping('changes')
    if not changes:
        section.error('changes', '', 'missing: changes of entities, as in ~/apply_changes')
    return {'changes': changes}


def _settings(section: Section) -> Mapping[str, Any]:
    given = {
        'gravity': section.vector('gravity', 3, None, GREATEST_GRAVITY),
        'solver': section.text('solver', None),
        'integrator': section.text('integrator', None),
        'sleep': section.flag('sleep', None),
    }
    found = {key: value for key, value in given.items() if value is not None}
    if not found:
        section.error('gravity', '', f'missing; or one of {", ".join(given)}')
    return found


def _fields(section: Section) -> Mapping[str, Any]:
    fields = section.mapping('force_fields')
    if not section.has('force_fields'):
        section.error('force_fields', '', 'missing: force fields by name; {} for none')
    return {'force_fields': fields}


def _move(section: Section) -> Mapping[str, Any]:
    return {
        key: section.vector(key, size, None)
        for key, size in (
            ('position', 3),
            ('orientation', 4),
            ('linear_velocity', 3),
            ('angular_velocity', 3),
        )
    }


def _delay(section: Section) -> Mapping[str, Any]:
    steps = section.number('steps', None)
    if steps is None or steps != int(steps) or not 1 <= steps <= 1_000_000:
        section.error('steps', steps, 'must be a whole number of control steps, 1 or more')
        steps = 1
    return {'steps': int(steps)}


def _loss(section: Section) -> Mapping[str, Any]:
    share = section.number('probability', None)
    if share is None or not 0.0 <= share <= 1.0:
        section.error('probability', share, 'must be a number from 0 to 1')
        share = 0.0
    return {'probability': share}


def _nothing(section: Section) -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True)
class DisturbanceKind:
    """
    Reader for a disturbance kind.

    lasts: whether it has a duration. of: its target, an 'entity', a 'controller' or the 'world'.
    """

    read: Callable[[Section], Mapping[str, Any]]
    lasts: bool
    of: str


DISTURBANCES: Mapping[str, DisturbanceKind] = {
    'push': DisturbanceKind(_push, True, 'entity'),
    'move': DisturbanceKind(_move, False, 'entity'),
    'change': DisturbanceKind(_change, False, 'world'),
    'settings': DisturbanceKind(_settings, False, 'world'),
    'force_fields': DisturbanceKind(_fields, False, 'world'),
    'silence': DisturbanceKind(_nothing, True, 'controller'),
    'freeze': DisturbanceKind(_nothing, True, 'controller'),
    'delay': DisturbanceKind(_delay, True, 'controller'),
    'loss': DisturbanceKind(_loss, True, 'controller'),
    'death': DisturbanceKind(_nothing, False, 'controller'),
}
"""
Disturbance kinds, by name.

push: force on a link. move: new pose or velocity of an entity. change: changes of entities.
settings: world settings. force_fields: new force fields. For controllers: silence, it sends no
commands; freeze, it sees an old state; delay, its commands take effect later; loss, random
commands are lost; death, it is killed.
"""


def _disturbance(section: Section) -> Disturbance | None:
    kind_name = section.choice('kind', tuple(DISTURBANCES), '')
    if not kind_name:
        if not section.has('kind'):
            section.error('kind', '', f'missing; one of {", ".join(DISTURBANCES)}')
        return None
    kind = DISTURBANCES[kind_name]
    begin = section.number('at', 0.0)
    if not 0.0 <= begin < math.inf:
        section.error('at', begin, 'must be a time, 0 or later [s]')
    duration = math.inf
    if kind.lasts:
        is_needed = kind_name == 'push'
        duration = section.number('duration', math.inf)
        if not duration > 0.0 or is_needed and duration == math.inf:
            section.error('duration', section.peek('duration'), 'must be a time above 0 [s]')
    robot = '' if kind.of == 'world' else section.text('robot', '')
    values = kind.read(section)
    section.close()
    return Disturbance(section.name, kind_name, begin, begin + duration, robot, values)


def _needed(section: Section, key: str, size: int) -> tuple[float, ...] | None:
    found = section.vector(key, size, None)
    if found is None and not section.has(key):
        section.error(key, '', f'missing: {size} numbers')
    return found
