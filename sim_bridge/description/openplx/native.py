"""
Functions and operators in the bundle Math, and other bundles' functions without simulation.

The bundles declare their parameters; this module computes the results. Objects are `Struct`s:
numbers in member order. Quaternions are x y z w, rotations act on column vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import math
import statistics
from typing import Any, NamedTuple

import numpy as np

from sim_bridge.foundation.rotation import quaternion_from_matrix

VEC2, VEC3, QUAT, POSE = 'Math.Vec2', 'Math.Vec3', 'Math.Quat', 'Math.AffineTransform'
MATRIX3, MATRIX4, LINE = 'Math.Matrix3x3', 'Math.Matrix4x4', 'Math.Line'

# members in each model, in the order of a Struct's values
FIELDS: dict[str, tuple[str, ...]] = {
    VEC2: ('x', 'y'),
    VEC3: ('x', 'y', 'z'),
    QUAT: ('x', 'y', 'z', 'w'),
    POSE: ('position', 'rotation'),
    LINE: ('start', 'end'),
    **{
        name: tuple(f'e{row}{column}' for row in range(size) for column in range(size))
        for name, size in ((MATRIX3, 3), (MATRIX4, 4))
    },
}


class Struct(NamedTuple):
    """New object from the bundle Math. model: its name. values: in FIELDS order."""

    model: str
    values: tuple[Any, ...]

    def member(self, name: str) -> Any:
        """Return a member; raises ValueError for an unknown name."""
        return self.values[FIELDS[self.model].index(name)]


class NativeError(ValueError):
    """A function has no result for these arguments. code: for the finding."""

    def __init__(self, message: str, code: str = 'value'):
        super().__init__(message)
        self.code = code


# (model, function) → implementation, taking the object (unless static) and the arguments
FUNCTIONS: dict[tuple[str, str], Callable[..., Any]] = {}
# (sign, model or 'Real' of the left operand, of the right one) → implementation; a negation has
# '' on the left
OPERATORS: dict[tuple[str, str, str], Callable[..., Any]] = {}

_Function = Callable[..., Any]


def _function(model: str, *names: str) -> Callable[[_Function], _Function]:
    """Return a decorator registering a function, by default under its own name."""

    def enter(function: _Function) -> _Function:
        for name in names or (function.__name__.lstrip('_'),):
            FUNCTIONS[model, name] = function
        return function

    return enter


def _array(struct: Struct) -> np.ndarray:
    return np.array(struct.values, dtype=float)


def _struct(model: str, values: Any) -> Struct:
    return Struct(model, tuple(np.asarray(values, dtype=float).ravel().tolist()))


def _normalized(struct: Struct) -> Struct:
    length = math.hypot(*struct.values)
    if not length or not math.isfinite(length):
        raise NativeError(f'{struct.model.rpartition(".")[2]}{struct.values} has no direction')
    return Struct(struct.model, tuple(value / length for value in struct.values))


# -- numbers -------------------------------------------------------------------------------------

_FUNCTIONS = 'Math.Functions'


def _filled(values: tuple[float, ...]) -> tuple[float, ...]:
    if not values:
        raise NativeError('there are no values')
    return values


def _checked(function: Callable[..., float]) -> Callable[..., float]:
    """Return a numeric function raising NativeError for refused arguments."""

    def checked(*arguments: Any) -> float:
        try:
            return function(*arguments)
        except (ValueError, OverflowError, ZeroDivisionError, statistics.StatisticsError) as err:
            raise NativeError(str(err)) from None

    return checked


_NUMERIC: dict[str, Callable[..., float]] = {
    'sin': math.sin,
    'cos': math.cos,
    'tan': math.tan,
    'arcsin': math.asin,
    'arccos': math.acos,
    'arctan': math.atan,
    'arctan2': math.atan2,
    'sqrt': math.sqrt,
    'pow': math.pow,
    'mean': lambda values: statistics.fmean(_filled(values)),
    'median': lambda values: statistics.median(_filled(values)),
    'harmonic_mean': lambda values: len(_filled(values)) / math.fsum(1 / x for x in values),
    'min': lambda values: min(_filled(values)),
    'max': lambda values: max(_filled(values)),
    'sum': math.fsum,
    'inf': lambda: math.inf,
    'neg_inf': lambda: -math.inf,
    'rad_to_deg': math.degrees,
    'deg_to_rad': math.radians,
    # as in C: halves are rounded away from zero
    'round': lambda x: math.floor(abs(x) + 0.5) * (1 if x > 0 else -1),
    'floor': math.floor,
    'ceil': math.ceil,
    'equals_approx': lambda value, ref: math.isclose(value, ref, rel_tol=1e-8, abs_tol=1e-8),
}
for _name, _meaning in _NUMERIC.items():
    FUNCTIONS[_FUNCTIONS, _name] = _checked(_meaning)


# -- vectors -------------------------------------------------------------------------------------


def _axis(model: str, index: int) -> Callable[[], Struct]:
    axis = Struct(model, tuple(float(index == i) for i in range(len(FIELDS[model]))))
    return lambda: axis


for _model in (VEC2, VEC3):
    for _index, _name in enumerate(FIELDS[_model]):
        FUNCTIONS[_model, f'{_name.upper()}_AXIS'] = _axis(_model, _index)
    FUNCTIONS[_model, 'length'] = lambda self: math.hypot(*self.values)
    FUNCTIONS[_model, 'normal'] = _normalized
    FUNCTIONS[_model, 'dot'] = lambda self, rhs: _dot(self, rhs)
FUNCTIONS[VEC2, 'from_xy'] = lambda x, y: Struct(VEC2, (x, y))
FUNCTIONS[VEC3, 'from_xyz'] = lambda x, y, z: Struct(VEC3, (x, y, z))


def _dot(left: Struct, right: Struct) -> float:
    return math.fsum(a * b for a, b in zip(left.values, right.values, strict=True))


@_function(VEC3)
def _cross(self: Struct, rhs: Struct) -> Struct:
    return _struct(VEC3, np.cross(_array(self), _array(rhs)))


@_function(VEC3)
def _get_orthogonal_unit_vector(self: Struct) -> Struct:
    """Return self × the axis of its smallest component (the last among equal ones), normalised."""
    if not any(self.values):
        raise NativeError('an axis must have a length', 'zero-axis')
    sizes = [abs(value) for value in self.values]
    index = max(i for i in range(3) if sizes[i] == min(sizes))
    return _normalized(_cross(self, FUNCTIONS[VEC3, f'{"XYZ"[index]}_AXIS']()))


@_function(VEC3)
def _angle_between_vectors(vector1: Struct, vector2: Struct, rot_vector: Struct) -> float:
    """Return the angle from the first vector to the second about the third, within ±π."""
    sine = _dot(_cross(vector1, vector2), _normalized(rot_vector))
    return math.atan2(sine, _dot(vector1, vector2))


# -- quaternions ---------------------------------------------------------------------------------


def _product(left: Struct, right: Struct) -> Struct:
    """Return the Hamilton product."""
    ax, ay, az, aw = left.values
    bx, by, bz, bw = right.values
    return Struct(
        QUAT,
        (
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
            aw * bw - ax * bx - ay * by - az * bz,
        ),
    )


@_function(QUAT)
def _conj(self: Struct) -> Struct:
    x, y, z, w = self.values
    return Struct(QUAT, (-x, -y, -z, w))


@_function(QUAT, 'inverse')
def _quat_inverse(self: Struct) -> Struct:
    square = _dot(self, self)
    if not square:
        raise NativeError('a quaternion of length 0 has no inverse')
    return _struct(QUAT, _array(_conj(self)) / square)


@_function(QUAT)
def _rotate(self: Struct, v: Struct) -> Struct:
    vector = Struct(QUAT, (*v.values, 0.0))
    return Struct(VEC3, _product(_product(self, vector), _quat_inverse(self)).values[:3])


@_function(QUAT)
def _angle_axis(angle: float, axis: Struct) -> Struct:
    x, y, z = _normalized(axis).values
    sine = math.sin(0.5 * angle)
    return Struct(QUAT, (sine * x, sine * y, sine * z, math.cos(0.5 * angle)))


@_function(QUAT)
def _from_to(from_: Struct, to: Struct) -> Struct:
    """Return the shortest rotation; between opposite vectors, about any orthogonal axis."""
    start, end = _normalized(from_), _normalized(to)
    if math.dist(start.values, [-value for value in end.values]) < 1e-9:
        return Struct(QUAT, (*_get_orthogonal_unit_vector(start).values, 0.0))
    return _normalized(Struct(QUAT, (*_cross(start, end).values, 1.0 + _dot(start, end))))


FUNCTIONS[QUAT, 'normal'] = _normalized
FUNCTIONS[QUAT, 'from_xyzw'] = lambda x, y, z, w: Struct(QUAT, (x, y, z, w))


def _matrix(quaternion: Struct) -> np.ndarray:
    x, y, z, w = _normalized(quaternion).values
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def _enter_euler_angles(axes: str, frame: str) -> None:
    """Register a convention's functions: `s` for fixed axes, `r` for rotating axes."""

    def from_euler(alpha: float, beta: float, gamma: float) -> Struct:
        turns = [
            _angle_axis(angle, FUNCTIONS[VEC3, f'{axis.upper()}_AXIS']())
            for axis, angle in zip(axes, (alpha, beta, gamma), strict=True)
        ]
        first, second, third = turns if frame == 'r' else reversed(turns)
        return _product(_product(first, second), third)

    def to_euler(self: Struct) -> Struct:
        from transforms3d.euler import mat2euler

        # transforms3d names rotating axes in rotation order as well
        return _struct(VEC3, mat2euler(_matrix(self), frame + axes))

    FUNCTIONS[QUAT, f'from_euler_angles_{axes}{frame}'] = from_euler
    FUNCTIONS[QUAT, f'to_euler_angles_{axes}{frame}'] = to_euler


_SEQUENCES = [
    first + second + third
    for first in 'xyz'
    for second in 'xyz'
    for third in 'xyz'
    if first != second != third
]
for _axes in _SEQUENCES:
    _enter_euler_angles(_axes, 's')
    _enter_euler_angles(_axes, 'r')
for _name in ('from_euler_angles', 'to_euler_angles'):
    FUNCTIONS[QUAT, _name] = FUNCTIONS[QUAT, f'{_name}_xyzs']


# -- transforms ----------------------------------------------------------------------------------

FUNCTIONS[POSE, 'create'] = lambda: Struct(
    POSE, (Struct(VEC3, (0.0, 0.0, 0.0)), Struct(QUAT, (0.0, 0.0, 0.0, 1.0)))
)
FUNCTIONS[POSE, 'from'] = lambda p, r: Struct(POSE, (p, r))


@_function(POSE)
def _from_axes(new_Z: Struct, new_X: Struct, position: Struct) -> Struct:
    z = _array(_normalized(new_Z))
    x = _array(new_X) - z * (z @ _array(new_X))
    x = _array(_normalized(_struct(VEC3, x)))
    rotation = np.column_stack([x, np.cross(z, x), z])
    return Struct(POSE, (position, _struct(QUAT, quaternion_from_matrix(rotation))))


@_function(POSE)
def _inverse_of(p: Struct, r: Struct) -> Struct:
    inverse = _quat_inverse(r)
    return Struct(POSE, (_struct(VEC3, -_array(_rotate(inverse, p))), inverse))


FUNCTIONS[POSE, 'inverse'] = lambda self: _inverse_of(*self.values)


@_function(POSE)
def _transform_vec3_vector(self: Struct, in_: Struct) -> Struct:
    rotated: Struct = _rotate(self.values[1], in_)
    return rotated


@_function(POSE)
def _transform_vec3_point(self: Struct, in_: Struct) -> Struct:
    position, rotation = self.values
    return _struct(VEC3, _array(_rotate(rotation, in_)) + _array(position))


FUNCTIONS[LINE, 'from_points'] = lambda start, end: Struct(LINE, (start, end))
FUNCTIONS[LINE, 'length'] = lambda self: math.dist(self.values[0].values, self.values[1].values)


# -- matrices ------------------------------------------------------------------------------------


def _square(struct: Struct) -> np.ndarray:
    size = math.isqrt(len(struct.values))
    return _array(struct).reshape(size, size)


def _rows(model: str, rows: Sequence[Sequence[float]]) -> Struct:
    size = math.isqrt(len(FIELDS[model]))
    if any(len(row) != size for row in rows):
        raise NativeError(f'expected {size} numbers in each row or column')
    return _struct(model, rows)


def _enter_matrix(model: str) -> None:
    FUNCTIONS[model, 'from_row_major'] = lambda *values: Struct(model, values)
    FUNCTIONS[model, 'from_rows'] = lambda *rows: _rows(model, rows)
    FUNCTIONS[model, 'from_columns'] = lambda *columns: _struct(
        model, _square(_rows(model, columns)).T
    )


for _model in (MATRIX3, MATRIX4):
    _enter_matrix(_model)
FUNCTIONS[MATRIX3, 'diag'] = lambda x, y, z: _struct(MATRIX3, np.diag([x, y, z]))
FUNCTIONS[MATRIX4, 'transpose'] = lambda self: _struct(MATRIX4, _square(self).T)
FUNCTIONS[MATRIX4, 'copy'] = lambda self: self
FUNCTIONS[MATRIX4, 'get_affine_translation'] = lambda self: _struct(VEC3, _square(self)[:3, 3])
FUNCTIONS[MATRIX4, 'get_affine_rotation'] = lambda self: _struct(
    QUAT, quaternion_from_matrix(_square(self)[:3, :3])
)


@_function(MATRIX4)
def _from_vec3_quat(v: Struct, q: Struct) -> Struct:
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = _matrix(q), v.values
    return _struct(MATRIX4, matrix)


@_function('Physics3D.Bodies.Inertia')
def _symmetric_tensor(diag: Struct, e01_10: float, e02_20: float, e12_21: float) -> Struct:
    x, y, z = diag.values
    return _struct(MATRIX3, [x, e01_10, e02_20, e01_10, y, e12_21, e02_20, e12_21, z])


# -- operators -----------------------------------------------------------------------------------


def _enter_linear(model: str) -> None:
    """Register a model's addition and subtraction."""
    OPERATORS['+', model, model] = lambda a, b: _struct(model, _array(a) + _array(b))
    OPERATORS['-', model, model] = lambda a, b: _struct(model, _array(a) - _array(b))


def _enter_scaled(model: str) -> None:
    """Register a model's multiplication and division by numbers, and its negation."""
    OPERATORS['*', model, 'Real'] = lambda a, b: _struct(model, _array(a) * b)
    OPERATORS['*', 'Real', model] = lambda a, b: _struct(model, a * _array(b))
    OPERATORS['/', model, 'Real'] = lambda a, b: _struct(model, _array(a) / _divisor(b))
    OPERATORS['-', '', model] = lambda a: _struct(model, -_array(a))


def _divisor(value: float) -> float:
    if not value:
        raise NativeError('division by zero')
    return value


for _model in (VEC2, VEC3, QUAT, MATRIX3, MATRIX4):
    _enter_linear(_model)
for _model in (VEC2, VEC3, QUAT):
    _enter_scaled(_model)
OPERATORS['*', VEC2, VEC2] = OPERATORS['*', VEC3, VEC3] = _dot
OPERATORS['*', QUAT, QUAT] = _product
OPERATORS['/', QUAT, QUAT] = lambda a, b: _product(a, _quat_inverse(b))
OPERATORS['*', MATRIX3, MATRIX3] = lambda a, b: _struct(MATRIX3, _square(a) @ _square(b))
OPERATORS['*', MATRIX4, MATRIX4] = lambda a, b: _struct(MATRIX4, _square(a) @ _square(b))
OPERATORS['*', MATRIX3, VEC3] = lambda a, b: _struct(VEC3, _square(a) @ _array(b))
OPERATORS['*', POSE, POSE] = lambda a, b: Struct(
    POSE, (_transform_vec3_point(a, b.values[0]), _product(a.values[1], b.values[1]))
)
OPERATORS['+', 'Real', 'Real'] = lambda a, b: a + b
OPERATORS['-', 'Real', 'Real'] = lambda a, b: a - b
OPERATORS['*', 'Real', 'Real'] = lambda a, b: a * b
OPERATORS['/', 'Real', 'Real'] = lambda a, b: a / _divisor(b)
OPERATORS['-', '', 'Real'] = lambda a: -a
