"""Defects in OpenPLX scenes are reported with file, line, column, code and a similar name."""

from __future__ import annotations

import textwrap
import time

from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import pytest

from sim_bridge.description.openplx import evaluate
from sim_bridge.description.openplx.evaluate import read_openplx
from sim_bridge.description.report import Findings, Report

# (code, line, column, part of the message, scene)
WRONG = {
    'syntax': (
        'syntax',
        2,
        20,
        "expected a value, found '*'",
        """\
        A:
            x is Real: 1 + * 2
            y is Real: 1
        """,
    ),
    'bracket': (
        'syntax',
        3,
        26,
        "expected ')', found end of line",
        """\
        A:
            w is Real: 1
            x is Real: (1 + 2 * 3
            y is Real: 4
        """,
    ),
    'text': (
        'syntax',
        2,
        18,
        'no closing quote',
        """\
        A:
            x is String: "abc
            y is Real: 1
        """,
    ),
    'indentation': (
        'indentation',
        3,
        9,
        'indented deeper',
        """\
        A:
            x is Real: 1
                y is Real: 1
            z is Real: 1
        """,
    ),
    'dedent': (
        'indentation',
        5,
        7,
        'expected 4 or 8',
        """\
        A:
            b is Math.Vec3:
                x: 1
                y: 1
              z: 1
        """,
    ),
    'block': (
        'indentation',
        2,
        1,
        'expected an indented block',
        """\
        B:
        A:
            x is Real: 1
        """,
    ),
    'type': (
        'type-not-found',
        2,
        10,
        "did you mean 'Physics3D.Bodies.RigidBody'",
        """\
        A:
            x is Physics3D.Bodies.RigidBod
        """,
    ),
    'own type': (
        'type-not-found',
        4,
        10,
        "did you mean 'Rod'",
        """\
        Rod:
            x is Real: 1
        A:
            b is Rot
        """,
    ),
    'bundle': (
        'type-not-found',
        2,
        10,
        "no model has the name 'Phisics3D.System'",
        """\
        A:
            b is Phisics3D.System
        """,
    ),
    'member': (
        'member-not-found',
        3,
        5,
        "did you mean 'initial_angle'",
        """\
        A:
            h is Physics3D.Interactions.Hinge
            h.inital_angle: 3
            h.connectors: []
        """,
    ),
    'name': (
        'member-not-found',
        3,
        16,
        "did you mean 'length'",
        """\
        A:
            length is Real: 1
            y is Real: lenght * 2
        """,
    ),
    'function': (
        'member-not-found',
        2,
        21,
        "did you mean 'from_xyz()'",
        """\
        A:
            p is Math.Vec3: Math.Vec3.from_xyzz(1, 2, 3)
        """,
    ),
    'arguments': (
        'arguments',
        2,
        21,
        'takes 3 values, not 2',
        """\
        A:
            p is Math.Vec3: Math.Vec3.from_xyz(1, 2)
        """,
    ),
    'missing': (
        'missing-assignment',
        4,
        5,
        "'rod.length' of type Real has no value",
        """\
        Rod:
            length is Real
        A:
            rod is Rod
        """,
    ),
    'missing of the scene': (
        'missing-assignment',
        2,
        5,
        "'length' of type Real",
        """\
        A:
            length is Real
        """,
    ),
    'missing array': (
        'missing-assignment',
        2,
        5,
        "'h.connectors'",
        """\
        A:
            h is Physics3D.Interactions.Hinge
        """,
    ),
    'cycle': (
        'cycle',
        2,
        5,
        "'x' depends on itself",
        """\
        A:
            x is Real: y + 1
            y is Real: x + 1
        """,
    ),
    'model in itself': (
        'cycle',
        2,
        5,
        'A contains itself',
        """\
        A:
            a is A
        """,
    ),
    'inheritance': (
        'cycle',
        2,
        1,
        'extends itself',
        """\
        A is B
        B is A
        """,
    ),
    'duplicate': (
        'duplicate',
        4,
        5,
        "'x' is declared in line 2 already",
        """\
        A:
            x is Real: 1
        B is A:
            x is Real: 2
        """,
    ),
    'duplicate value': (
        'duplicate',
        4,
        5,
        'given in line 3 already',
        """\
        A:
            p is Math.Vec3
            p.x: 1
            p.x: 2
        """,
    ),
    'duplicate model': (
        'duplicate',
        3,
        1,
        "'A' is declared in line 1 already",
        """\
        A:
            x is Real: 1
        A:
            y is Real: 1
        """,
    ),
    'reference': (
        'reference-read-only',
        4,
        5,
        'reference to an object elsewhere',
        """\
        A:
            p is Math.Vec3
            q is Math.Vec3: p
            q.x: 1
        """,
    ),
    'constant': (
        'reference-read-only',
        3,
        5,
        'reference to an object elsewhere',
        """\
        A:
            w is Physics3D.Interactions.World
            w.position.x: 1
        """,
    ),
    'integer': (
        'type-mismatch',
        2,
        5,
        'expected Int, found 3.5',
        """\
        A:
            x is Int: 3.5
        """,
    ),
    'model for a number': (
        'type-mismatch',
        3,
        5,
        'expected Real, found Math.Vec3',
        """\
        A:
            p is Math.Vec3
            x is Real: p
        """,
    ),
    'narrowed': (
        'type-mismatch',
        3,
        5,
        'Math.Vec2 does not fit Math.Vec3',
        """\
        A:
            p is Math.Vec3
            p becomes Math.Vec2
        """,
    ),
    'operator': (
        'type-mismatch',
        3,
        25,
        "no operator '+' for Math.Vec3 and 1",
        """\
        A:
            p is Math.Vec3
            q is Math.Vec3: 2*p + 1
        """,
    ),
    'division': (
        'value',
        2,
        18,
        'division by zero',
        """\
        A:
            x is Real: 1 / 0
        """,
    ),
    'infinite angle': (
        'value',
        2,
        21,
        'angle_axis has no result',
        """\
        A:
            q is Math.Quat: Math.Quat.angle_axis(1E999, Math.Vec3.X_AXIS())
            y is Real: 1
        """,
    ),
    'domain': (
        'value',
        2,
        16,
        'Math.Functions.sqrt has no result',
        """\
        A:
            x is Real: Math.Functions.sqrt(-1)
        """,
    ),
    'direction': (
        'value',
        2,
        48,
        'has no direction',
        """\
        A:
            p is Math.Vec3: Math.Vec3.from_xyz(0, 0, 0).normal()
        """,
    ),
    'index': (
        'index-out-of-range',
        3,
        17,
        'no element 2 in an array of 2',
        """\
        A:
            l is Real[]: [1, 2]
            x is Real: l[2]
        """,
    ),
    'native': (
        'native-method',
        2,
        32,
        'not supported',
        """\
        A is Physics3D.System:
            t is Math.AffineTransform: this.reduce_to_world_system_transform()
        """,
    ),
    'import': (
        'unreadable',
        1,
        1,
        'does not exist',
        """\
        import @"no_such_file.openplx"
        A:
            x is Real: 1
        """,
    ),
    'kind of file': (
        'unsupported-import',
        1,
        1,
        'expected .openplx or .urdf',
        """\
        import @"pyproject.toml"
        A:
            x is Real: 1
        """,
    ),
    'other model': (
        'member-not-found',
        2,
        16,
        "no member 'nothing'",
        """\
        Unused:
            x is Real: nothing
        A:
            y is Real: 1
        """,
    ),
}


def report_of(text: str, model: str | None = None) -> Report:
    """Return the findings for a scene."""
    findings = Findings()
    read_openplx(text, model, findings=findings)
    return findings.report('scene')


@pytest.mark.parametrize('name', WRONG)
def test_a_defect_is_one_finding_at_its_place(name):
    """Report one defect as one finding."""
    code, line, column, message, text = WRONG[name]
    report = report_of(textwrap.dedent(text))
    assert len(report.findings) == 1, report.to_text()
    found = report.findings[0]
    assert (found.code, found.line, found.column, found.severity) == (code, line, column, 'error')
    assert message in found.message
    assert found.file == '<string>'


def test_a_run_finds_several_defects():
    """Continue after a defect, and report no consequences."""
    report = report_of(
        textwrap.dedent("""\
        A:
            a is Nothing
            b is Real: 1 +
            c is Real: missing
            d is Int: 1.5
            e is Real: 2
            f is Real: a.x + c
        """)
    )
    assert [(found.line, found.code) for found in report.errors] == [
        (2, 'type-not-found'),
        (3, 'syntax'),
        (4, 'member-not-found'),
        (5, 'type-mismatch'),
    ]


def test_a_file_is_named_with_the_line(tmp_path):
    """Name the faulty imported file, not the scene."""
    part = tmp_path / 'part.openplx'
    part.write_text('Part:\n    x is Real: y\n')
    scene = tmp_path / 'scene.openplx'
    scene.write_text('import @"part.openplx"\nA:\n    part is Part\n')
    findings = Findings()
    root = read_openplx(scene, findings=findings)
    report = findings.report(str(scene))
    assert 'x' not in root['part'].members
    assert report.to_text().splitlines()[0] == (
        f"{part}:2:16: error: model 'Part': Part has no member 'y' [member-not-found]"
    )
    assert '"column": 16' in report.to_json()


def test_a_missing_file_and_a_missing_model_are_findings(tmp_path):
    """Return None with a finding."""
    findings = Findings()
    assert read_openplx(tmp_path / 'none.openplx', findings=findings) is None
    assert findings.report('').errors[0].code == 'unreadable'
    report = report_of('Rod:\n    x is Real: 1\n', 'Rot')
    assert "did you mean 'Rod'" in report.errors[0].message
    assert report_of('trait T:\n    x is Real\n').errors[0].code == 'no-model'


def test_without_bundles_the_report_says_how_to_install_them(monkeypatch):
    """Report once that they are missing."""
    monkeypatch.setattr('importlib.util.find_spec', lambda name: None)
    report = report_of('A is Physics3D.System:\n    x is Real: Math.PI\n')
    assert [found.code for found in report.errors] == ['bundle-missing']
    assert 'pip install openplx-bundles' in report.errors[0].message


@pytest.mark.parametrize(
    ('old', 'new'),
    [
        ('Physics3D.Charges.Box', 'Physics3D.Geometries.Box'),
        ('Physics3D.Charges.MateConnector', 'Physics3D.Interactions.MateConnector'),
        ('Physics3D.Charges.World', 'Physics3D.Interactions.World'),
        ('Physics.Charges.Material', 'Physics.Geometries.Material'),
        ('Physics3D.Transform', 'Math.AffineTransform'),
        ('Physics3D.Signals.RigidBodyPositionOutput', 'Physics3D.Signals.Position3DOutput'),
        ('Physics1D.Charges.RotationalConnector', 'Physics1D.Interactions.RotationalConnector'),
    ],
)
def test_models_of_earlier_bundles_are_found_with_a_warning(old, new):
    """Find models by their earlier names."""
    findings = Findings()
    root = read_openplx(f'A:\n    optional x is {old}\nB:\n    x is A\n', findings=findings)
    assert root is not None
    report = findings.report('scene')
    assert report.ok
    assert [(found.line, found.message) for found in report.warnings] == [
        (2, f'{old} is called {new} now')
    ]


@pytest.mark.parametrize(
    ('line', 'message'),
    [
        (
            'x is Math.Vec3: Math.Vec3.fromXYZ(1, 2, 3)',
            'Vec3.fromXYZ is called Math.Vec3.from_xyz',
        ),
        (
            'x is Math.Vec3: Math.Vec3.X_AXIS().getOrthogonalUnitVector()',
            'get_orthogonal_unit_vector',
        ),
        ('x is Math.Quat: Math.Quat.fromXYZW(0, 0, 0, 1)', 'from_xyzw'),
        (
            'motor is Physics3D.Interactions.VelocityMotor:\n        desired_speed: 1\n'
            '        connectors: []',
            'desired_speed is called target_speed',
        ),
        (
            'motor is Physics3D.Interactions.VelocityMotor:\n        connectors: []\n'
            '    x is Real: motor.desired_speed',
            'desired_speed is called target_speed',
        ),
    ],
)
def test_members_and_functions_of_earlier_bundles_are_found_with_a_warning(line, message):
    """Find members and functions by their earlier names."""
    report = report_of(f'A:\n    {line}\n')
    assert report.ok, report.to_text()
    assert [found.code for found in report.warnings] == ['renamed']
    assert message in report.warnings[0].message


N = 10_000
HUGE = {
    'brackets': f'A:\n    x is Real: {"(" * N}1\n',
    'signs': f'A:\n    x is Real: {"-" * N}1\n',
    'calls': f'A:\n    x is Math.Vec3: Math.Vec3.X_AXIS(){".normal()" * N}\n',
    'names': f'A:\n    x is Real: {"a." * N}b\n',
    'blocks': ''.join(f'{" " * i}a:\n' for i in range(N)),
    'bases': 'A0:\n    x is Real: 1\n' + ''.join(f'A{i + 1} is A{i}\n' for i in range(N)),
    'traits': 'trait T0:\n    x is Real: 1\n'
    + ''.join(f'trait T{i + 1}:\n    with T{i}\n' for i in range(1000))
    + 'A:\n    with T1000\n',
    'owners': 'A0:\n    x is Real: 1\n'
    + ''.join(f'A{i + 1}:\n    a is A{i}\n' for i in range(200)),
    'circle': 'A:\n' + ''.join(f'    x{i} is Real: x{(i + 1) % 2000}\n' for i in range(2000)),
    'circle of models': 'A:\n    b is B\nB:\n    a is A\n',
    'circle of traits': 'trait T:\n    with U\ntrait U:\n    with T\nA:\n    with T\n',
    'circle of globals': 'g is Real: h\nh is Real: g\nA:\n    x is Real: g\n',
    'defects': 'A:\n' + ''.join(f'    x{i} is Nothing{i}\n' for i in range(3000)),
    'doubling': 'A0:\n    x is Real: 1\n'
    + ''.join(f'A{i + 1}:\n    a is A{i}\n    b is A{i}\n' for i in range(30)),
}


@pytest.mark.parametrize('name', HUGE)
def test_huge_and_circular_scenes_are_reported(name, monkeypatch):
    """Refuse endless and unbounded scenes with a report."""
    monkeypatch.setattr(evaluate, 'MOST_OBJECTS', 20_000)
    report = report_of(HUGE[name])
    assert {found.code for found in report.errors} <= {
        'too-deep',
        'cycle',
        'too-many',
        'too-large',
        'type-not-found',
    }
    assert 0 < len(report.errors) <= 200
    assert len(report.to_text()) < 100_000


def test_a_file_of_ten_megabytes_is_refused_in_a_time_that_its_size_bounds():
    """Read comments of any length, and a million words at most."""
    start = time.process_time()
    report = report_of('A:\n' + '    # nothing\n' * 350_000 + '[' * 5_000_000 + '\n')
    assert {found.code for found in report.errors} == {'too-large'}
    # processor time; a quadratic lexer takes hours
    assert time.process_time() - start < 120


def test_values_that_grow_without_bound_stay_numbers():
    """Square an integer sixty times."""
    lines = ''.join(f'    x{i + 1} is Real: x{i} * x{i}\n' for i in range(60))
    report = report_of(f'A:\n    x0 is Int: 3\n{lines}')
    assert {found.code for found in report.errors} <= {'value'}


WORDS = st.sampled_from(
    [
        'A',
        'B',
        'x',
        'y',
        'is',
        'with',
        'becomes',
        'reference',
        'optional',
        'trait',
        'const',
        'fn',
        'static',
        'import',
        'as',
        'or',
        'this',
        'true',
        'delete',
        'Real',
        'Int',
        'Math.Vec3',
        '1',
        '2.5E3',
        '"t"',
        '@"f"',
        '"""',
        ':',
        '.',
        ',',
        '(',
        ')',
        '[',
        ']',
        '[]',
        '{',
        '}',
        '+',
        '-',
        '*',
        '/',
        '->',
        '#',
        ' ',
        '    ',
        '\n',
        '\n    ',
        '\n        ',
        ': ',
        ' is ',
        '\t',
        '€',
    ]
)


@settings(
    max_examples=300,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(st.lists(WORDS, max_size=60).map(''.join))
def test_any_words_are_a_scene_or_have_findings(text):
    """Read random words of the language."""
    text += '\n'
    findings = Findings()
    root = read_openplx(text, findings=findings)
    report = findings.report('scene')
    assert root is not None or report.errors
    assert all(found.line <= text.count('\n') + 1 for found in report.findings)
