"""Reading studies: all defects are reported with their lines."""

from __future__ import annotations

import copy

import pytest
from studies import PUSHED, write_study

from sim_bridge.cli.main import main, USAGE_ERROR
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.sweep.criteria import Criterion
from sim_bridge.sweep.study import read_study, StudyError
from sim_bridge.sweep.study_files import check_files


def test_a_study_is_read(tmp_path):
    """Read inputs, runs and their contents."""
    study = write_study(tmp_path, PUSHED)
    assert study.design.count == 6
    assert list(study.inputs) == ['frequency', 'friction', 'push']
    plan = study.plan(study.design.of(2))
    inputs = study.design.of(2)
    assert plan.controllers[''].parameters == {'natural_frequency': inputs['frequency']}
    assert plan.disturbances[0].values['force'] == (0.0, inputs['push'], 0.0)
    assert plan.changes['arm']['joints']['joint_2']['friction'] == inputs['friction']


def test_the_digest_depends_on_the_runs_only(tmp_path):
    """Keep the digest when comments change, and change it with each number."""
    digest = write_study(tmp_path, PUSHED).digest
    file = tmp_path / 'study.yaml'
    file.write_text('# held\n' + file.read_text().replace('study:', 'study:\n  description: held'))
    assert read_study(file).digest == digest
    assert write_study(tmp_path, {**PUSHED, 'seed': 2}).digest != digest


def test_the_digest_of_keys_that_are_no_texts(tmp_path):
    """Tell a disturbance named by a truth or a number from one named by its word."""
    pushes = PUSHED['run']['disturbances']
    digests = set()
    for name in (True, 1, 'true', 'True', '1'):
        disturbances = {**pushes, name: pushes['push']}
        made = {**PUSHED, 'run': {**PUSHED['run'], 'disturbances': disturbances}}
        digests.add(write_study(tmp_path, made).digest)
    assert len(digests) == 5


WRONG = {
    'design: randon': "must be one of grid, list, random, sobol, saltelli; did you mean 'random'",
    'samples: 0': 'must be a whole number, 1 or more',
    'seed: -1': 'must be a whole number, 0 or more',
    'friction: {path: joints.a, uniform: [0, 1]}': 'must begin with one of robot, scene',
    'friction: {path: changes.arm.joints.joint_2.friction}': 'one of values, range',
    'friction: {path: duration, uniform: [2, 1]}': 'the lesser first',
    'friction: {path: duration, log_uniform: [0, 1]}': 'both above 0',
    'friction: {path: duration, normal: [1, 0.1], uniform: [1, 2]}': 'is given too',
    'friction: {path: "duration..x", uniform: [1, 2]}': 'keys with dots between',
    'friction: {path: "disturbances.push.force[7]", uniform: [1, 2]}': 'an existing item',
    'friction: {path: robot.a, uniform: [1, 2]}': 'is not a mapping',
    'kind: pod': "did you mean 'pd'",
    'kind: shove': 'must be one of push, move',
    'duration: -1': 'must be a time above 0',
    'parameters: {real_time_factor: 2.0}': 'is not a parameter of runs',
    'holds: wurst < 1': "Did you mean 'worst'?",
    'holds: worst +': 'comparisons of measures',
    'holds: __import__("os")': 'unknown function',
    'worst: joint_states.position[joint_1': 'topic fields',
    'holds: worst + 1': 'comparisons of measures',
    'worst: joint_states.position[joint_1]': 'one number, for example max',
    'worst: percentile(joint_states.position[joint_1], 200)': 'from 0 to 100',
    'worst: maximum(joint_states.position)': 'unknown function',
    'wrong: 1': 'there is no such key',
}


@pytest.mark.parametrize(('line', 'told'), WRONG.items(), ids=WRONG)
def test_defects_are_reported_with_their_line(tmp_path, line, told):
    """Name key, value, line and accepted values."""
    write_study(tmp_path, copy.deepcopy(PUSHED))
    file = tmp_path / 'study.yaml'
    lines = file.read_text().splitlines()
    key = line.partition(':')[0]
    text = '\n'.join(lines)
    if key == 'friction':
        at = next(k for k, each in enumerate(lines) if each.strip() == 'friction:')
        lines[at : at + 5] = [f'    {line}']
    elif key == 'wrong':
        at = 1
        lines.insert(1, f'  {line}')
    elif key == 'parameters':
        at = next(k for k, each in enumerate(lines) if each.strip() == 'parameters:')
        end = next(k for k in range(at + 1, len(lines)) if lines[k].startswith('    controller'))
        lines[at:end] = [f'    {line}']
    else:
        kinds = [k for k, each in enumerate(lines) if each.strip().startswith(f'{key}:')]
        at = kinds[-1] if line == 'kind: shove' else kinds[0]
        indent = len(lines[at]) - len(lines[at].lstrip())
        lines[at] = ' ' * indent + line
    assert text != '\n'.join(lines)
    file.write_text('\n'.join(lines))
    with pytest.raises(StudyError) as raised:
        read_study(file)
    assert told in str(raised.value)
    if key not in ('friction',) or 'uniform: [2' in line:
        assert any(abs(finding.line - at - 1) <= 1 for finding in raised.value.report.findings), (
            str(raised.value)
        )


def test_a_kind_that_is_none_is_one_defect(tmp_path):
    """Report no neighbouring keys, since another kind may accept them."""
    run = {**PUSHED['run'], 'controller': {'kind': 'pod', 'stiffness': 3.0}}
    with pytest.raises(StudyError) as raised:
        write_study(tmp_path, {**PUSHED, 'run': run})
    (finding,) = raised.value.report.findings
    assert "did you mean 'pd'?" in finding.message


def test_missing_files_are_reported(tmp_path, capsys):
    """Name missing robot, scene, parameters and function by check, and before the first run."""
    for number, (changes, told) in enumerate(
        (
            ({'robot': 'arn'}, "Did you mean 'arm'?"),
            ({'robot': 'arm/x.urdf'}, 'the path of a file that exists'),
            ({'robot': None, 'scene': 'hal.yaml'}, "hall.yaml'?"),
            ({'params': 'mine.yaml'}, 'mine.yaml does not'),
            ({'controller': {'kind': 'function', 'call': 'law.py:hold'}}, 'law.py does not'),
        )
    ):
        (tmp_path / 'hall.yaml').write_text('world: {}')
        run = {key: value for key, value in {**PUSHED['run'], **changes}.items() if value}
        study = write_study(
            tmp_path,
            {
                **PUSHED,
                'run': run,
                'vary': {'friction': {'path': 'parameters.friction', 'uniform': [0, 1]}},
            },
            f'{number}.yaml',
        )
        assert main(['check', str(study.source)]) == 1
        assert told in capsys.readouterr().out
        assert main(['sweep', str(study.source)]) == 2
        error = capsys.readouterr().err
        assert told in error and f'{number}.yaml:' in error
        assert not (tmp_path / f'{number}_results').exists()


@pytest.mark.parametrize(
    ('run', 'said'),
    [
        ({'parameters': {'sensors': 5}}, "parameter 'sensors' = 5: expected a block of named"),
        ({'parameters': {'rat': 5}}, "unknown parameter 'rat'"),
        ({'parameters': {'package_paths': 5}}, "parameter 'package_paths' = 5: expected a list"),
        (
            {'parameters': {'package_paths': [5]}},
            "'package_paths' = [5]: expected a list of texts",
        ),
        ({'params': 'mine.yaml'}, "parameter 'gravity' = [0, 1]: expected a list of 3 finite"),
        ({'controller': {'kind': 'pd', 'ramp_time': 'long'}}, "parameter 'ramp_time' = 'long'"),
        ({'parameters': {'gravity': [0, 0, 1e10]}}, "parameter 'gravity' = [0, 0, 10000000000.0]"),
        ({'params': 'pd.yaml'}, "parameter 'ramp_time' = [1]: expected a finite number"),
        ({'controller': {'kind': 'pd', 'ramptime': 1}}, "unknown parameter 'ramptime'"),
    ],
)
def test_wrong_parameters_are_reported_before_the_first_run(tmp_path, capsys, run, said):
    """Refuse the study by `check` and by `sweep`, with the text of the other verbs."""
    (tmp_path / 'mine.yaml').write_text('sim_bridge: {ros__parameters: {gravity: [0, 1]}}\n')
    (tmp_path / 'pd.yaml').write_text('pd_controller: {ros__parameters: {ramp_time: [1]}}\n')
    content = {**PUSHED, 'vary': {}, 'run': {**PUSHED['run'], 'disturbances': {}, **run}}
    study = write_study(tmp_path, {**content, 'succeed': {}})
    assert main(['check', str(study.source)]) == 1
    assert said in capsys.readouterr().out
    assert main(['sweep', str(study.source)]) == USAGE_ERROR
    assert said in capsys.readouterr().err


def test_unknown_names_in_files_are_warned_of_before_the_first_run(tmp_path):
    """Report them as warnings with the name probably meant; runs ignore them."""
    (tmp_path / 'mine.yaml').write_text(
        '/**/sim_bridge: {ros__parameters: {gravty: [0, 0], use_sim_time: true}}\n'
        '/**/pd_controller: {ros__parameters: {ramp_tim: 1, damping_ratio: 1}}\n'
        '/**: {ros__parameters: {ramp_time: 1, rate: 500}}\n'
    )
    content = {**PUSHED, 'run': {**PUSHED['run'], 'params': 'mine.yaml'}}
    first, second = check_files(write_study(tmp_path, content)).findings
    assert first.severity == second.severity == 'warning'
    assert "unknown parameter 'gravty' is ignored. Did you mean 'gravity'?" in first.message
    assert "unknown parameter 'ramp_tim' is ignored. Did you mean 'ramp_time'?" in second.message


def test_invalid_designs_are_rejected(tmp_path):
    """Reject samples that are no power of 2, texts for Sobol indices, unequal lists."""

    def refused(**changes: object) -> str:
        with pytest.raises(StudyError) as raised:
            write_study(tmp_path, {**PUSHED, **changes})
        return str(raised.value)

    texts = {
        **PUSHED['vary'],
        'solver': {'path': 'parameters.solver', 'values': ['direct', 'split']},
    }
    assert 'must be a power of 2 for Sobol indices, such as 8' in refused(design='saltelli')
    assert 'takes inputs that are numbers' in refused(design='saltelli', samples=8, vary=texts)
    assert 'needs an input with values' in refused(design='grid', samples=None)
    assert 'must be equally long' in refused(
        design='list',
        samples=None,
        vary={**texts, 'rate': {'path': 'parameters.rate', 'range': [100, 200, 3]}},
    )


def test_a_study_that_is_not_there(tmp_path):
    """Name the missing file."""
    with pytest.raises(StudyError, match='nowhere.yaml'):
        read_study(tmp_path / 'nowhere.yaml')


@pytest.mark.parametrize(
    ('text', 'holds'),
    [
        ('a < 2', True),
        ('a < 2 and b > 3', False),
        ('not a > 2', True),
        ('1 < a < 2', True),
        ('abs(0 - a) + 1 == 2.5', True),
        ('never < 1', False),
        ('not never < 1', False),
        ('a / zero > 1', False),
        ('name == "x"', True),
        ('endless < inf', False),
    ],
)
def test_criteria_compare_measures_and_inputs(text, holds):
    """Evaluate arithmetic, comparisons and logic; NaN satisfies no criterion."""
    values = {
        'a': 1.5,
        'b': 2.0,
        'never': float('nan'),
        'zero': 0.0,
        'name': 'x',
        'endless': float('inf'),
    }
    assert Criterion(text, values).holds(values) is holds


def test_criteria_call_nothing_of_pythons():
    """Reject attributes, items, nested calls, comprehensions, and bare numbers."""
    numbers = 'a + 1', '-a', '1', 'a < 2 and 3', 'not 1', 'abs(a)'
    calls = 'a.real', 'a[0]', '(lambda: 1)()', '[x for x in a]', 'abs(*a)', 'f"{a}"'
    for text in (*numbers, *calls):
        with pytest.raises(InvalidValueError):
            Criterion(text, ['a', 'x'])


def test_check_runs_no_program_of_a_study(tmp_path):
    """Read a study with a function and with a command, and run neither."""
    (tmp_path / 'code.py').write_text('open(__file__ + ".ran", "w")\n')
    for controller in (
        {'kind': 'function', 'call': 'code.py:f'},
        {'kind': 'node', 'command': ['python3', 'code.py']},
    ):
        plan = {**PUSHED['run'], 'controller': controller}
        vary = {'friction': PUSHED['vary']['friction']}
        study = write_study(tmp_path, {**PUSHED, 'run': plan, 'vary': vary})
        assert main(['check', str(study.source)]) == 0
    assert not list(tmp_path.rglob('*.ran'))
