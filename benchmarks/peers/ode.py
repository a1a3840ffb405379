"""
The Open Dynamics Engine, through the C API of its shared library.

Bodies are placed one by one, in maximal coordinates, and joined by hinges and sliders. The loop of
steps is compiled by Numba and calls the C function directly: no Python call falls into a timing.
Single and double precision builds are told apart by `dCheckConfiguration`.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import weakref

import numba
import numpy as np

from benchmarks.mechanism import (
    FREE,
    Mechanism,
    Motion,
    motion_of,
    quaternion_from,
    REVOLUTE,
    State,
    zero_state,
)
from benchmarks.peers import MissingPeerError

_library = ctypes.util.find_library('ode')
if _library is None:
    raise MissingPeerError('apt-get install libode8')
_ode = ctypes.CDLL(_library)

_ode.dGetConfiguration.restype = ctypes.c_char_p
_DOUBLE = bool(_ode.dCheckConfiguration(b'ODE_double_precision'))
_real = ctypes.c_double if _DOUBLE else ctypes.c_float
_pointer = ctypes.c_void_p
_reals = ctypes.POINTER(_real)


def _declare(name, result, *arguments):
    function = getattr(_ode, name)
    function.restype, function.argtypes = result, arguments
    return function


class _Mass(ctypes.Structure):
    """ODE's `dMass`: mass, dVector4 centre, dMatrix3 (3 rows of 4) inertia."""

    _fields_ = [('mass', _real), ('c', _real * 4), ('inertia', _real * 12)]


_init = _declare('dInitODE2', ctypes.c_int, ctypes.c_uint)
_world_create = _declare('dWorldCreate', _pointer)
_world_destroy = _declare('dWorldDestroy', None, _pointer)
_set_gravity = _declare('dWorldSetGravity', None, _pointer, _real, _real, _real)
_mass_set = _declare('dMassSetParameters', None, ctypes.POINTER(_Mass), *[_real] * 10)
_body_create = _declare('dBodyCreate', _pointer, _pointer)
_set_mass = _declare('dBodySetMass', None, _pointer, ctypes.POINTER(_Mass))
_set_finite = _declare('dBodySetFiniteRotationMode', None, _pointer, ctypes.c_int)
_set_position = _declare('dBodySetPosition', None, _pointer, _real, _real, _real)
_set_quaternion = _declare('dBodySetQuaternion', None, _pointer, _reals)
_set_velocity = _declare('dBodySetLinearVel', None, _pointer, _real, _real, _real)
_set_angular = _declare('dBodySetAngularVel', None, _pointer, _real, _real, _real)
_set_force = _declare('dBodySetForce', None, _pointer, _real, _real, _real)
_get_position = _declare('dBodyGetPosition', _reals, _pointer)
_get_rotation = _declare('dBodyGetRotation', _reals, _pointer)
_get_velocity = _declare('dBodyGetLinearVel', _reals, _pointer)
_get_angular = _declare('dBodyGetAngularVel', _reals, _pointer)
_create_hinge = _declare('dJointCreateHinge', _pointer, _pointer, _pointer)
_create_slider = _declare('dJointCreateSlider', _pointer, _pointer, _pointer)
_attach = _declare('dJointAttach', None, _pointer, _pointer, _pointer)
_hinge_anchor = _declare('dJointSetHingeAnchor', None, _pointer, _real, _real, _real)
_hinge_axis = _declare('dJointSetHingeAxis', None, _pointer, _real, _real, _real)
_slider_axis = _declare('dJointSetSliderAxis', None, _pointer, _real, _real, _real)
_seed_random = _declare('dRandSetSeed', None, ctypes.c_ulong)
_world_step = _declare('dWorldStep', ctypes.c_int, _pointer, _real)
_world_quick_step = _declare('dWorldQuickStep', ctypes.c_int, _pointer, _real)

_init(0)


class Ode:
    """
    `dWorldStep`, or `dWorldQuickStep` with its 20 iterations, at ODE's defaults (ERP 0.2).

    finite_rotation: integrate rotations exactly, by `dBodySetFiniteRotationMode`.
    """

    version = f'{_library}, {"double" if _DOUBLE else "single"} precision'

    def __init__(self, mechanism: Mechanism, time_step: float, gravity: np.ndarray, *,
                 quick: bool = False, finite_rotation: bool = False):
        self._mechanism, self._time_step = mechanism, time_step
        self._loop = _compiled_loop(quick)
        self._world = _world_create()
        weakref.finalize(self, _world_destroy, self._world)
        _set_gravity(self._world, *gravity)
        self._bodies = [self._add_body(body, finite_rotation) for body in mechanism.bodies]
        self._force = np.zeros(3)
        # joints remember the poses they are attached in as their zero
        self._place(motion_of(mechanism, zero_state(mechanism)))
        self._add_joints()

    def reset(self, state: State) -> None:
        """Put the mechanism into `state`, without forces."""
        self._force = np.zeros(3)
        _seed_random(0)  # dWorldQuickStep shuffles its rows
        self._place(motion_of(self._mechanism, state))

    def push(self, force: np.ndarray) -> None:
        """Apply a force [N] at the centre of mass of body 0 in all steps to come."""
        self._force = np.asarray(force, dtype=float)

    def step(self, n: int) -> None:
        """Advance `n` steps in a compiled loop, or one by one while a force is applied."""
        if not self._force.any():
            self._loop(self._world, self._time_step, n)
            return
        for _ in range(n):
            _set_force(self._bodies[0], *self._force)
            self._loop(self._world, self._time_step, 1)

    work = step

    def motion(self) -> Motion:
        """Return poses and velocities of all bodies, as ODE keeps them."""
        def read(getter, n):
            return np.array([getter(body)[:n] for body in self._bodies], dtype=float)

        return Motion(com=read(_get_position, 3),
                      rotation=read(_get_rotation, 12).reshape(-1, 3, 4)[:, :, :3].copy(),
                      velocity=read(_get_velocity, 3), angular=read(_get_angular, 3))

    def _add_body(self, body, finite_rotation):
        handle = _body_create(self._world)
        mass, i = _Mass(), body.inertia
        _mass_set(ctypes.byref(mass), body.mass, 0.0, 0.0, 0.0,
                  i[0, 0], i[1, 1], i[2, 2], i[0, 1], i[0, 2], i[1, 2])
        _set_mass(handle, ctypes.byref(mass))
        _set_finite(handle, int(finite_rotation))
        return handle

    def _add_joints(self):
        motion = motion_of(self._mechanism, zero_state(self._mechanism))
        for i, body in enumerate(self._mechanism.bodies):
            if body.joint == FREE:
                continue
            create = _create_hinge if body.joint == REVOLUTE else _create_slider
            joint = create(self._world, None)
            parent = None if body.parent < 0 else self._bodies[body.parent]
            _attach(joint, self._bodies[i], parent)
            axis = motion.rotation[i] @ body.axis
            if body.joint == REVOLUTE:
                _hinge_anchor(joint, *(motion.com[i] - motion.rotation[i] @ body.com))
                _hinge_axis(joint, *axis)
            else:
                _slider_axis(joint, *axis)

    def _place(self, motion):
        for i, handle in enumerate(self._bodies):
            x, y, z, w = quaternion_from(motion.rotation[i])
            _set_position(handle, *motion.com[i])
            _set_quaternion(handle, (_real * 4)(w, x, y, z))
            _set_velocity(handle, *motion.velocity[i])
            _set_angular(handle, *motion.angular[i])
            _set_force(handle, 0.0, 0.0, 0.0)


@functools.cache
def _compiled_loop(quick):
    step = _world_quick_step if quick else _world_step

    @numba.njit
    def loop(world, time_step, n):
        for _ in range(n):
            step(world, time_step)

    return loop
