"""
Studies: varied inputs, run plan, measures and criteria; as YAML.

    study:
      description: Pushes that the arm withstands
      seed: 1                      # of all random numbers
      design: sobol                # grid, list, random, sobol, saltelli
      samples: 256                 # for random, sobol, saltelli; repeats for grid, list
      noise: each                  # same: all runs have the sensor noise of run 0
      vary:
        stiffness: {path: controller.natural_frequency, log_uniform: [20, 120]}
        friction: {path: changes.arm.joints.joint_2.friction, uniform: [0, 2]}
        push: {path: 'disturbances.push.force[1]', normal: [0, 30]}
        solver: {path: parameters.solver, values: [direct, iterative]}
        mass: {path: world.objects.ball.mass, range: [0.1, 0.5, 5]}
      run: {}                      # see `plan`
      measure:
        worst: max(abs(joint_states.position[joint_2]))
      succeed:
        holds: worst < 0.2

Paths name values in `run`; paths beginning with world name values in the scene file. An input may
have a list of paths. It has exactly one of the keys in `distributions.READERS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
import hashlib
import json
from operator import itemgetter
from pathlib import Path
import re
from typing import Any

from sim_bridge.description.report import DescriptionError, Findings
from sim_bridge.description.yaml.overlay import Path as Steps
from sim_bridge.description.yaml.overlay import read_path
from sim_bridge.description.yaml.section import read_document, Section
from sim_bridge.foundation.errors import brief, InvalidValueError, SimBridgeError
from sim_bridge.ros.bag.expressions import Expression
from sim_bridge.sweep.criteria import Criterion
from sim_bridge.sweep.design import (
    Design,
    DESIGNS,
    GRID,
    LIST,
    most_inputs,
    RANDOM,
    SALTELLI,
    SAMPLED,
    SOBOL,
)
from sim_bridge.sweep.distributions import Distribution, FLOAT, INTEGER, read_distribution, Values
from sim_bridge.sweep.plan import Plan, read_plan
from sim_bridge.sweep.reductions import MEASURING

_FIRST_KEYS = (
    'robot',
    'scene',
    'duration',
    'parameters',
    'changes',
    'controller',
    'controllers',
    'disturbances',
    'world',
)
_MOST_RUNS = 100_000_000


class StudyError(DescriptionError):
    """Error for an invalid study; `report` holds all defects."""

    headline = unread = 'the study cannot be run'


@dataclass(frozen=True)
class Input:
    """Varied input: name, paths of its value, distribution."""

    name: str
    paths: tuple[Steps, ...]
    distribution: Distribution


@dataclass(frozen=True)
class Study:
    """
    Study.

    source: its file. inputs, measures, criteria: by name. content: file content, for
    `digest`; studies with the same runs have the same digest.
    """

    source: Path
    description: str
    design: Design
    inputs: Mapping[str, Input]
    measures: Mapping[str, str]
    criteria: Mapping[str, Criterion]
    run: Mapping[str, Any]
    content: Mapping[str, Any] = field(repr=False)

    @property
    def folder(self) -> Path:
        """Base folder for relative paths in the study."""
        return self.source.resolve().parent

    @property
    def digest(self) -> str:
        """SHA-256 of everything that affects the runs, without comments and description."""
        own = {key: value for key, value in self.content.items() if key != 'description'}
        text = json.dumps(_with_text_keys(own), sort_keys=True, default=repr)
        return hashlib.sha256(text.encode()).hexdigest()

    def plan(self, values: Mapping[str, Any]) -> Plan:
        """Return the run plan with given inputs; raises StudyError, InvalidValueError."""
        findings = Findings()
        plan = read_plan(self.run, _by_path(self.inputs, values), findings)
        report = findings.report(str(self.source))
        if not report.ok:
            raise StudyError(report)
        return plan


def read_study(source: str | Path) -> Study:
    """Read a study from a YAML file; raises StudyError with all defects and their lines."""
    findings = Findings()
    label, _, content = read_document(source, findings)
    study = None
    if content is not None:
        document = Section(content, '', findings)
        section = document.section('study', required=True)
        document.close()
        if section is not None:
            study = _study(Path(source), section)
    report = findings.report(label)
    if not report.ok or study is None:
        raise StudyError(report)
    return study


def _study(source: Path, section: Section) -> Study | None:
    seed = section.number('seed', 0.0)
    if not 0.0 <= seed < 2**63 or seed != int(seed):
        section.error('seed', section.peek('seed'), 'must be a whole number, 0 or more')
        seed = 0.0
    inputs = {
        each.name: found
        for each in section.sections('vary')
        if (found := _input(each)) is not None
    }
    design = _design(section, inputs, int(seed))
    description = section.text('description', '')
    measures = _measures(section)
    criteria = _criteria(section, [*inputs, *measures])
    run = section.section('run', required=True)
    content = section.mapping('run')
    both = sorted(set(inputs) & set(measures))
    if both:
        section.error('measure', both[0], 'is the name of an input, too')
    section.close()
    if run is None or design is None:
        return None
    run.rename('run')
    study = Study(
        source,
        description,
        design,
        inputs,
        measures,
        criteria,
        content,
        {key: section.peek(key) for key in section.names()},
    )
    _check_plan(section, study, run.line)
    return study


def _check_plan(section: Section, study: Study, line: int) -> None:
    """Report defects in the first run's plan."""
    try:
        values = study.design.of(0)
        read_plan(study.run, _by_path(study.inputs, values), section.findings, line)
    except SimBridgeError as err:
        section.error('vary', '', str(err))


def _input(section: Section) -> Input | None:
    given = section.peek('path')
    section.knows('path')
    distribution = read_distribution(section)
    if section.has('within'):
        section.knows('within')
    section.close()
    if not re.fullmatch(r'[A-Za-z_]\w*', section.name, re.ASCII):
        section.error('', section.name, 'a name must be letters, digits and _')
    paths = []
    for text in given if isinstance(given, (list, tuple)) else [given]:
        try:
            steps = read_path(text, 'path')
        except InvalidValueError as err:
            section.error(
                'path',
                text,
                f'expected {err.expected}'
                if text is not None
                else 'missing: where in `run` the value goes',
            )
            continue
        if steps[0] not in _FIRST_KEYS:
            section.error('path', text, f'must begin with one of {", ".join(_FIRST_KEYS)}')
        paths.append(steps)
    return (
        None
        if distribution is None or not paths
        else Input(section.name, tuple(paths), distribution)
    )


def _design(section: Section, inputs: Mapping[str, Input], seed: int) -> Design | None:
    kind = section.choice('design', DESIGNS, RANDOM)
    distributions = {name: each.distribution for name, each in inputs.items()}
    is_same = section.choice('noise', ('each', 'same'), 'each') == 'same'
    section.knows('samples')
    section.knows('repeats')
    name, other = ('samples', 'repeats') if kind in SAMPLED else ('repeats', 'samples')
    number = section.number(name, None if kind in SAMPLED else 1.0)
    if section.peek(other) is not None:
        section.error(other, section.peek(other), f'the design {kind} takes {name} instead')
    if number is None or not 1.0 <= number <= _MOST_RUNS or number != int(number):
        section.error(name, section.peek(name), 'must be a whole number, 1 or more')
        return None
    count = int(number)
    if kind in (SOBOL, SALTELLI) and not 1 <= len(inputs) <= most_inputs(kind):
        section.error('vary', '', f'the design {kind} takes 1 to {most_inputs(kind):.0f} inputs')
        return None
    if kind == SALTELLI and count & (count - 1):
        section.error(
            'samples',
            count,
            f'must be a power of 2 for Sobol indices, such as {1 << count.bit_length()}',
        )
    if kind == SALTELLI and any(
        each.kind not in (FLOAT, INTEGER) for each in distributions.values()
    ):
        section.error('design', kind, 'takes inputs that are numbers')
    sizes = {len(each.values) for each in distributions.values() if isinstance(each, Values)}
    if kind == LIST and len(sizes) > 1:
        section.error(
            'vary',
            '',
            'the lists of the design list must be equally long; these have '
            f'{", ".join(map(str, sorted(sizes)))} values',
        )
    if kind in (GRID, LIST) and not sizes:
        section.error('vary', '', f'the design {kind} needs an input with values or a range')
    design = (
        Design(kind, distributions, seed, count, is_noise_same=is_same)
        if kind in SAMPLED
        else Design(kind, distributions, seed, repeats=count, is_noise_same=is_same)
    )
    if design.count > _MOST_RUNS:
        section.error(name, design.count, f'must be at most {_MOST_RUNS} runs')
        return None
    return design


def _measures(section: Section) -> dict[str, str]:
    outer = section.section('measure', required=True)
    if outer is None:
        return {}
    found = {name: outer.text(name, '') for name in outer.names()}
    for name in found:
        if not re.fullmatch(r'[A-Za-z_]\w*', name, re.ASCII):
            outer.error(name, name, 'a name must be letters, digits and _')
        try:
            if found[name]:
                Expression(found[name], MEASURING).check_number()
        except SimBridgeError as err:
            outer.error(name, found[name], str(err))
    if not found:
        section.error('measure', '', 'must have at least one measure')
    return {name: text for name, text in found.items() if text}


def _criteria(section: Section, names: list[str]) -> dict[str, Criterion]:
    outer = section.section('succeed')
    found: dict[str, Criterion] = {}
    for name in () if outer is None else outer.names():
        assert outer is not None
        text = outer.text(name, '')
        try:
            if text:
                found[name] = Criterion(text, names)
        except SimBridgeError as err:
            outer.error(name, brief(text), str(err))
    return found


def _by_path(inputs: Mapping[str, Input], values: Mapping[str, Any]) -> dict[Steps, Any]:
    return {path: values[name] for name, each in inputs.items() for path in each.paths}


def _with_text_keys(value: Any) -> Any:
    """Return a value with sortable keys; YAML has keys such as `true` and `1`, too."""
    if isinstance(value, Mapping):
        if all(isinstance(key, str) for key in value):
            return {key: _with_text_keys(each) for key, each in value.items()}
        pairs = [(repr(key), _with_text_keys(each)) for key, each in value.items()]
        return {'': sorted(pairs, key=itemgetter(0))}
    if isinstance(value, (list, tuple)):
        return [_with_text_keys(each) for each in value]
    return value
