"""Functions and operators in the bundle Math against scipy, numpy and closed forms."""

from __future__ import annotations

import math
import re

import numpy as np
from numpy.testing import assert_allclose
import pytest
from scipy.spatial.transform import Rotation

from sim_bridge.description.openplx.bundles import Library
from sim_bridge.description.openplx.evaluate import read_openplx
from sim_bridge.description.openplx.native import FUNCTIONS, OPERATORS
from sim_bridge.description.openplx.objects import Object
from sim_bridge.description.openplx.values import matrix, quaternion, vector
from sim_bridge.description.report import Findings

Q, V = '{0.1, -0.2, 0.3, 0.9}', '{1.5, -2.0, 0.25}'
q, v = np.array([0.1, -0.2, 0.3, 0.9]), np.array([1.5, -2.0, 0.25])
TURN = Rotation.from_quat(q)
SEQUENCES = sorted(
    name.rpartition('_')[2]
    for model, name in FUNCTIONS
    if re.fullmatch(r'from_euler_angles_[xyz]{3}[sr]', name)
)


def numbers(value: object) -> np.ndarray:
    """Return numbers and Math objects as an array."""
    if not isinstance(value, Object):
        return np.asarray(value, dtype=float)
    if value.is_a('Math.Quat'):
        return quaternion(value)
    return matrix(value) if 'e00' in value.members else vector(value)


def value(expression: str, type_: str = 'Real') -> np.ndarray:
    """Return the value of an expression about a vector v and a quaternion q."""
    findings = Findings()
    root = read_openplx(
        f'A:\n    v is Math.Vec3: {V}\n    q is Math.Quat: {Q}\n    u is Math.Vec2: {{3, 4}}\n'
        '    m is Math.Matrix3x3: Math.Matrix3x3.from_rows([1, 2, 3], [0, 4, 5], [0, 0, 6])\n'
        f'    t is Math.AffineTransform: Math.AffineTransform.from(v, Math.Quat.normal(q))\n'
        f'    x is {type_}: {expression}\n',
        findings=findings,
    )
    assert not findings.found, findings.report('A').to_text()
    return numbers(root['x'])


@pytest.mark.parametrize(
    ('expression', 'expected'),
    [
        ('sin(0.3)', math.sin(0.3)),
        ('cos(0.3)', math.cos(0.3)),
        ('tan(0.3)', math.tan(0.3)),
        ('arcsin(0.3)', math.asin(0.3)),
        ('arccos(0.3)', math.acos(0.3)),
        ('arctan(0.3)', math.atan(0.3)),
        ('arctan2(1, -1)', 0.75 * math.pi),
        ('sqrt(2)', 2**0.5),
        ('pow(2, 0.5)', 2**0.5),
        ('mean([1, 2, 6])', 3),
        ('median([5, 1, 2, 4])', 3),
        ('harmonic_mean([1, 2, 4])', 12 / 7),
        ('min([2, -1, 3])', -1),
        ('max([2, -1, 3])', 3),
        ('sum([1, 2, 3.5])', 6.5),
        ('rad_to_deg(1)', 180 / math.pi),
        ('deg_to_rad(90)', math.pi / 2),
        ('round(2.5)', 3),
        ('round(-2.5)', -3),
        ('round(-0.4)', 0),
        ('floor(-0.5)', -1),
        ('ceil(0.2)', 1),
        ('inf()', math.inf),
        ('neg_inf()', -math.inf),
    ],
)
def test_functions_of_numbers(expression, expected):
    """Compare with the math module."""
    assert_allclose(value(f'Math.Functions.{expression}'), expected, rtol=1e-15)


@pytest.mark.parametrize(
    ('expression', 'type_', 'expected'),
    [
        ('v + Math.Vec3.X_AXIS() * 2', 'Math.Vec3', v + [2, 0, 0]),
        ('-v / 2 - 3 * v', 'Math.Vec3', -3.5 * v),
        ('v * v', 'Real', v @ v),
        ('v.dot(v)', 'Real', v @ v),
        ('v.cross(Math.Vec3.Y_AXIS())', 'Math.Vec3', np.cross(v, [0, 1, 0])),
        ('v.length()', 'Real', np.linalg.norm(v)),
        ('v.normal()', 'Math.Vec3', v / np.linalg.norm(v)),
        ('v.normal().y', 'Real', v[1] / np.linalg.norm(v)),
        ('u.normal()', 'Math.Vec2', [0.6, 0.8]),
        ('u.length()', 'Real', 5),
        ('u * u - u.dot(Math.Vec2.X_AXIS())', 'Real', 22),
        ('-u + Math.Vec2.from_xy(1, 1) / 2', 'Math.Vec2', [-2.5, -3.5]),
        (
            'Math.Vec3.angle_between_vectors(Math.Vec3.X_AXIS(), Math.Vec3.Y_AXIS(), '
            'Math.Vec3.Z_AXIS())',
            'Real',
            math.pi / 2,
        ),
        (
            'Math.Vec3.angle_between_vectors(Math.Vec3.Y_AXIS(), Math.Vec3.X_AXIS(), '
            'Math.Vec3.Z_AXIS())',
            'Real',
            -math.pi / 2,
        ),
        (
            'Math.Line.from_points(v, Math.Vec3.from_xyz(0, 0, 0)).length()',
            'Real',
            np.linalg.norm(v),
        ),
        ('q * q', 'Math.Quat', (TURN * TURN).as_quat() * (q @ q)),
        ('q / q', 'Math.Quat', [0, 0, 0, 1]),
        ('q * 2 - q + q / 4', 'Math.Quat', 1.25 * q),
        ('-q', 'Math.Quat', -q),
        ('2 * q', 'Math.Quat', 2 * q),
        ('q.conj()', 'Math.Quat', q * [-1, -1, -1, 1]),
        ('q.inverse() * q', 'Math.Quat', [0, 0, 0, 1]),
        ('Math.Quat.normal(q)', 'Math.Quat', q / np.linalg.norm(q)),
        ('q.rotate(v)', 'Math.Vec3', TURN.apply(v)),
        (
            'Math.Quat.angle_axis(0.7, v)',
            'Math.Quat',
            Rotation.from_rotvec(0.7 * v / np.linalg.norm(v)).as_quat(),
        ),
        ('Math.Quat.from_to(v, Math.Vec3.Z_AXIS()).rotate(v.normal())', 'Math.Vec3', [0, 0, 1]),
        ('Math.Quat.from_to(v, v)', 'Math.Quat', [0, 0, 0, 1]),
        ('Math.Quat.from_to(v, -v).rotate(v)', 'Math.Vec3', -v),
        ('t.transform_vec3_point(v)', 'Math.Vec3', TURN.apply(v) + v),
        ('t.transform_vec3_vector(v)', 'Math.Vec3', TURN.apply(v)),
        ('(t * t).position', 'Math.Vec3', TURN.apply(v) + v),
        ('(t * t.inverse()).position', 'Math.Vec3', [0, 0, 0]),
        (
            '(Math.AffineTransform.inverse_of(v, t.rotation) * t).rotation',
            'Math.Quat',
            [0, 0, 0, 1],
        ),
        ('Math.AffineTransform.create().rotation', 'Math.Quat', [0, 0, 0, 1]),
        (
            'Math.AffineTransform.from_axes(Math.Vec3.X_AXIS(), {5, 1, 0}, v).rotation',
            'Math.Quat',
            Rotation.from_matrix([[0, 0, 1], [1, 0, 0], [0, 1, 0]]).as_quat(),
        ),
        ('m * v', 'Math.Vec3', [[1, 2, 3], [0, 4, 5], [0, 0, 6]] @ v),
        ('m * m - m', 'Math.Matrix3x3', [[0, 8, 28], [0, 12, 45], [0, 0, 30]]),
        ('Math.Matrix3x3.diag(1, 2, 3) + m', 'Math.Matrix3x3', [[2, 2, 3], [0, 6, 5], [0, 0, 9]]),
        (
            'Math.Matrix3x3.from_columns([1, 2, 3], [4, 5, 6], [7, 8, 9])',
            'Math.Matrix3x3',
            [[1, 4, 7], [2, 5, 8], [3, 6, 9]],
        ),
        ('Math.Matrix3x3.from_row_major(1, 2, 3, 4, 5, 6, 7, 8, 9).e12', 'Real', 6),
        ('Math.Matrix4x4.from_vec3_quat(v, q).get_affine_translation()', 'Math.Vec3', v),
        (
            'Math.Matrix4x4.from_vec3_quat(v, q).get_affine_rotation()',
            'Math.Quat',
            q / np.linalg.norm(q),
        ),
        (
            '(Math.Matrix4x4.from_vec3_quat(v, q).transpose().copy() * '
            'Math.Matrix4x4.from_vec3_quat(v, q)).e33',
            'Real',
            v @ v + 1,
        ),
        (
            'Physics3D.Bodies.Inertia.symmetric_tensor({1, 2, 3}, 4, 5, 6)',
            'Math.Matrix3x3',
            [[1, 4, 5], [4, 2, 6], [5, 6, 3]],
        ),
    ],
)
def test_functions_and_operators_of_objects(expression, type_, expected):
    """Compare with scipy, numpy and closed forms."""
    assert_allclose(value(expression, type_), expected, rtol=0, atol=4e-15)


@pytest.mark.parametrize(
    ('axis', 'normal'),
    [
        ('0, 0, 1', [-1, 0, 0]),
        ('1, 0, 0', [0, -1, 0]),
        ('0, 1, 0', [1, 0, 0]),
        ('0, 0, -2', [1, 0, 0]),
        ('1, 1, 0', [1, -1, 0]),
        ('1, 2, 3', [0, 3, -2]),
    ],
)
def test_the_default_normal_is_orthogonal_to_the_axis_of_the_smallest_component(axis, normal):
    """Use the last among equal components."""
    found = value(f'Math.Vec3.from_xyz({axis}).get_orthogonal_unit_vector()', 'Math.Vec3')
    assert_allclose(found, np.array(normal) / np.linalg.norm(normal), rtol=0, atol=1e-15)


def test_there_are_all_conventions_of_angles():
    """Count the conventions."""
    assert len(SEQUENCES) == 24


@pytest.mark.parametrize('sequence', SEQUENCES)
def test_angles_agree_with_scipy(sequence):
    """Rotate about fixed axes (s) and rotating ones (r), and back."""
    axes = sequence[:3] if sequence.endswith('s') else sequence[:3].upper()
    angles = 0.3, 0.8, -1.1
    expected = Rotation.from_euler(axes, angles)
    found = value(f'Math.Quat.from_euler_angles_{sequence}(0.3, 0.8, -1.1)', 'Math.Quat')
    assert_allclose(Rotation.from_quat(found).as_matrix(), expected.as_matrix(), atol=1e-15)
    back = value(
        f'Math.Quat.from_euler_angles_{sequence}(0.3, 0.8, -1.1).to_euler_angles_{sequence}()',
        'Math.Vec3',
    )
    assert_allclose(Rotation.from_euler(axes, back).as_matrix(), expected.as_matrix(), atol=1e-14)


def test_roll_pitch_and_yaw_are_those_of_urdf():
    """Agree with the rest of the package."""
    from sim_bridge.foundation.rotation import matrix_from_rpy

    found = value('Math.Quat.from_euler_angles(0.1, 0.2, 0.3)', 'Math.Quat')
    assert_allclose(
        Rotation.from_quat(found).as_matrix(), matrix_from_rpy([0.1, 0.2, 0.3]), atol=1e-15
    )


def test_every_function_and_operator_that_math_declares_is_there():
    """Compare the tables with the bundle's declarations."""
    library = Library([], Findings())
    bundle = library.bundles['Math']
    missing, files = [], bundle.files(())
    for path in files.values():
        source = library.open(path, bundle)
        for model in source.models.values():
            missing += [
                f'{model.name}.{statement.name}'
                for statement in model.block
                if hasattr(statement, 'parameters')
                and (f'Math.{model.name}', statement.name) not in FUNCTIONS
            ]
    assert not missing
    signatures = re.findall(
        r'operator (.)\((?:\w+: (\w+), )?\w+: (\w+)\)',
        ''.join(path.read_text() for path in files.values()),
    )
    assert len(signatures) > 20
    for sign, *operands in signatures:
        key = (sign, *(f'Math.{name}' if name not in ('', 'Real') else name for name in operands))
        assert key in OPERATORS, key
