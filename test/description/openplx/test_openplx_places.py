"""Defects have the author's line and one finding, even inside a bundle's default."""

from __future__ import annotations

import time

import pytest

from sim_bridge.description.openplx.load import examine_openplx
from sim_bridge.description.report import Report

# lines 1 to 12
SCENE = """S is Physics3D.System:
    b is Physics3D.Bodies.RigidBody:
        inertia.mass: 1
        g is Physics3D.Geometries.Box:
            size: {0.1, 0.1, 0.1}
        c is Physics3D.Interactions.MateConnector:
            position.x: -0.5
            main_axis: {0, 0, 1}
    w is Physics3D.Interactions.MateConnector:
        main_axis: {0, 0, 1}
    h is Physics3D.Interactions.Hinge:
        connectors: [w, b.c]
"""


def report_of(text: str) -> Report:
    """Return the findings for a scene."""
    return examine_openplx(text)[1]


def changed(old: str, new: str) -> str:
    """Return the scene with a change at its only variable place."""
    assert SCENE.count(old) == 1
    return SCENE.replace(old, new)


AXIS = '            main_axis: {0, 0, 1}'
ONE = {
    'default of an axis': (
        changed(AXIS, '            main_axis: {0, 0, 0}'),
        'zero-axis',
        8,
        'b.c.normal',
    ),
    'default of a part': (
        changed(AXIS, '            main_axis.z: 0'),
        'zero-axis',
        8,
        'b.c.normal',
    ),
    'axis itself': (
        changed(AXIS, '            main_axis.z: 0\n            normal: {1, 0, 0}'),
        'zero-axis',
        8,
        'no length',
    ),
    'infinite part': (SCENE + '    w.position.x: Math.INF\n', 'not-finite', 13, 'w.position.x'),
    'infinite angle': (SCENE + '    h.initial_angle: Math.INF\n', 'not-finite', 13, 'finite'),
    'infinite mass': (changed('mass: 1', 'mass: Math.INF'), 'not-finite', 3, 'finite'),
    'great position': (SCENE + '    w.position.x: 1e200\n', 'out-of-range', 13, 'w.position.x'),
    'great axis': (
        changed(AXIS, '            main_axis: {0, 0, 1e200}'),
        'out-of-range',
        8,
        'b.c.main_axis.z',
    ),
    'great mass': (changed('mass: 1', 'mass: 1e300'), 'out-of-range', 3, 'b.inertia.mass'),
    'great edge': (changed('{0.1, 0.1', '{1e160, 0.1'), 'out-of-range', 5, 'b.g.size.x'),
    'great gain': (
        SCENE + '    m is Physics3D.Interactions.RotationalVelocityMotor:\n'
        '        connectors: h.connectors\n        gain: 1e300\n',
        'out-of-range',
        15,
        'm.gain',
    ),
    'great velocity': (
        changed(
            '        inertia.mass: 1',
            '        inertia.mass: 1\n        kinematics.initial_local_linear_velocity.x: 1e200',
        ),
        'out-of-range',
        4,
        'b.kinematics',
    ),
    'gear': (SCENE + '    e is DriveTrain.Gear\n', 'unsupported-bundle', 13, 'DriveTrain.Gear'),
    'lidar': (SCENE + '    e is Sensors.LidarLogic\n', 'unsupported-bundle', 13, 'Sensors.Lidar'),
    'actuator': (
        SCENE + '    e is DriveTrain.HingeActuator\n',
        'unsupported-bundle',
        13,
        'DriveTrain.HingeActuator',
    ),
    'no such number': (
        SCENE + '    n is Real: Math.NEGINF\n',
        'member-not-found',
        13,
        "the bundle Math declares no 'Math.NEGINF'; did you mean 'Math.NEG_INF'",
    ),
    'no such function': (
        SCENE + '    n is Real: Math.sin(1)\n',
        'member-not-found',
        13,
        "did you mean 'Math.Functions.sin()'",
    ),
    'namespace': (
        SCENE + '    e is DriveTrain.Engines\n',
        'type-not-found',
        13,
        "'DriveTrain.Engines' is a namespace, not a model",
    ),
    'like a namespace': (
        SCENE + '    e is Physics3D.Interaction\n',
        'type-not-found',
        13,
        "no model has the name 'Physics3D.Interaction'",
    ),
    'edge': (changed('{0.1, 0.1', '{-0.1, 0.1'), 'bad-value', 5, 'positive'),
    'bracket': (changed('[w, b.c]', '[w, b.c') + '\n', 'syntax', 14, "'[' in line 12 is open"),
    'declared by a base': (
        SCENE + '    l is Physics3D.Interactions.Lock:\n        connectors: [w, b.c]\n'
        '        flexibility is Physics3D.Interactions.Flexibility.LinearElasticLockFlexibility:\n'
        '            default_stiffness: 100\n',
        'duplicate',
        15,
        "'becomes' gives it another",
    ),
    'folder': ('import @"/"\n' + SCENE, 'unreadable', 1, 'is no regular file'),
    'device': ('import @"/dev/null"\n' + SCENE, 'unreadable', 1, 'is no regular file'),
    'nothing': ('', 'unreadable', 0, 'path of a file'),
}


@pytest.mark.filterwarnings('error')
@pytest.mark.parametrize('name', ONE)
def test_a_defect_is_one_finding_at_the_line_of_the_author(name):
    """Report no consequences, and let no number overflow."""
    text, code, line, part = ONE[name]
    report = report_of(text)
    assert [(found.code, found.line) for found in report.findings] == [(code, line)], (
        report.to_text()
    )
    assert part in report.findings[0].message
    assert report.findings[0].file in ('<string>', '')


def test_places_of_defaults_are_those_of_their_objects(tmp_path):
    """Report a defect in another author's bundle at the line using it."""
    bundle = tmp_path / 'Parts'
    bundle.mkdir()
    (bundle / 'config.openplx').write_text('config is BundleConfig:\n    name: "Parts"\n')
    (bundle / 'Link.openplx').write_text("""Link is Physics3D.Bodies.RigidBody:
    inertia.mass: mass
    mass is Real: -1
""")
    report = examine_openplx(
        'S is Physics3D.System:\n    a is Physics3D.System:\n        l is Parts.Link\n',
        bundle_paths=[tmp_path],
    )[1]
    [found] = report.errors
    assert (found.code, found.line, found.file) == ('negative-mass', 3, '<string>')


def test_tiny_axes_are_directions():
    """Ignore the length of a main axis, however small."""
    assert not report_of(changed(AXIS, '            main_axis: {0, 0, 1e-200}')).errors


def test_braces_in_operations_have_the_type_of_the_result():
    """Scale a vector in braces, as in the reference scenes."""
    scene, report = examine_openplx(changed('{0.1, 0.1, 0.1}', '-{-0.2, -0.4, -0.6} / 2'))
    assert not report.errors
    assert scene.robots[0].shapes[0][1].shape.size == pytest.approx((0.1, 0.2, 0.3))


def test_braces_in_operations_hold_all_members():
    """Require all members in an operand: an object is complete only once a member takes it."""
    _, report = examine_openplx(changed('{0.1, 0.1, 0.1}', '-{0.1, 0.2}'))
    (found,) = report.errors
    assert (found.code, found.message) == (
        'type-mismatch',
        'the braces hold no z: operators and functions take a Math.Vec3 with all of x, y, z',
    )


LARGE = {
    'doubling': (
        'A0 is Physics3D.System\n'
        + ''.join(
            f'A{i + 1} is Physics3D.System:\n    a is A{i}\n    b is A{i}\n' for i in range(40)
        ),
        'too-large',
    ),
    'terms': ('A:\n    y is Real: 2\n    x is Real: 1' + ' + 1' * 200_000 + '\n', 'too-large'),
    'terms in brackets': (
        'A:\n    y is Real: 2\n    x is Real: (1' + ' + 1' * 3000 + ')\n',
        'too-large',
    ),
    'nested': (
        'S0 is Physics3D.System\n'
        + ''.join(f'S{i + 1} is Physics3D.System:\n    a is S{i}\n' for i in range(400)),
        'too-deep',
    ),
}


@pytest.mark.parametrize('name', LARGE)
def test_exceeded_limits_are_one_finding_with_a_line(name):
    """Find excesses by counting, before the objects are created."""
    text, code = LARGE[name]
    report_of('A is Physics3D.System\n')
    start = time.process_time()
    report = report_of(text)
    # processor time: it takes seconds if all objects are created first
    assert time.process_time() - start < 2.0
    assert [found.code for found in report.findings] == [code]
    assert report.findings[0].line > 1
