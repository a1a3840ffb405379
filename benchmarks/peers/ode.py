"""
The Open Dynamics Engine, through its shared library's C API.

Bodies are placed one by one, in maximal coordinates, and joined by hinges and sliders. Numba
compiles the step loop, which calls the C function directly: timings contain no Python call.
"""

from __future__ import annotations

import ctypes
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
from benchmarks.peers import libode as ode


class Ode:
    """
    `dWorldStep`, or `dWorldQuickStep` with its 20 iterations, at ODE's defaults (ERP 0.2).

    finite_rotation: integrate rotations exactly, by `dBodySetFiniteRotationMode`.
    """

    version = ode.VERSION

    def __init__(
        self,
        mechanism: Mechanism,
        time_step: float,
        gravity: np.ndarray,
        *,
        quick: bool = False,
        finite_rotation: bool = False,
    ):
        self._mechanism, self._time_step = mechanism, time_step
        self._loop = _compiled_loop(quick)
        self._world = ode.world_create()
        weakref.finalize(self, ode.world_destroy, self._world)
        ode.set_gravity(self._world, *gravity)
        self._bodies = [
            add_body(self._world, body.mass, body.inertia, finite_rotation=finite_rotation)
            for body in mechanism.bodies
        ]
        self._force = np.zeros(3)
        add_joints(self._world, mechanism, self._bodies)

    def reset(self, state: State) -> None:
        """Put the mechanism into `state`, without forces."""
        self._force = np.zeros(3)
        ode.seed_random(0)  # dWorldQuickStep shuffles its rows
        place(self._bodies, motion_of(self._mechanism, state))

    def push(self, force: np.ndarray) -> None:
        """Apply a force [N] at body 0's centre of mass in all later steps."""
        self._force = np.asarray(force, dtype=float)

    def step(self, n: int) -> None:
        """Advance `n` steps in a compiled loop, or one by one while a force is applied."""
        if not self._force.any():
            self._loop(self._world, self._time_step, n)
            return
        for _ in range(n):
            ode.set_force(self._bodies[0], *self._force)
            self._loop(self._world, self._time_step, 1)

    work = step

    def motion(self) -> Motion:
        """Return all body poses and velocities, as ODE stores them."""
        return read_motion(self._bodies)


def add_body(
    world: int, mass: float, inertia: np.ndarray, *, finite_rotation: bool = False
) -> int:
    """Add a body with its frame at its centre of mass; return its handle."""
    handle, parameters, i = ode.body_create(world), ode.Mass(), inertia
    ode.mass_set(
        ctypes.byref(parameters),
        mass,
        0.0,
        0.0,
        0.0,
        i[0, 0],
        i[1, 1],
        i[2, 2],
        i[0, 1],
        i[0, 2],
        i[1, 2],
    )
    ode.set_mass(handle, ctypes.byref(parameters))
    ode.set_finite(handle, int(finite_rotation))
    return handle


def add_joints(world: int, mechanism: Mechanism, bodies: list[int]) -> list[int]:
    """
    Join a mechanism's bodies; return the handles of the tree's joints.

    The bodies are moved to the mechanism's zero position: ODE joints take their attachment poses
    as their zero.
    """
    joints = []
    motion = motion_of(mechanism, zero_state(mechanism))
    place(bodies, motion)
    for i, body in enumerate(mechanism.bodies):
        if body.joint == FREE:
            continue
        create = ode.create_hinge if body.joint == REVOLUTE else ode.create_slider
        joint = create(world, None)
        ode.attach(joint, bodies[i], None if body.parent < 0 else bodies[body.parent])
        axis = motion.rotation[i] @ body.axis
        if body.joint == REVOLUTE:
            ode.hinge_anchor(joint, *(motion.com[i] - motion.rotation[i] @ body.com))
            ode.hinge_axis(joint, *axis)
        else:
            ode.slider_axis(joint, *axis)
        joints.append(joint)
    for closure in mechanism.closures:
        kind = 'Ball' if closure.axis is None else 'Hinge'
        joint, i = ode.create_joint[kind](world, None), closure.first
        ode.attach(joint, bodies[i], bodies[closure.second])
        point = motion.com[i] + motion.rotation[i] @ (closure.position - mechanism.bodies[i].com)
        ode.place_joint[f'{kind}Anchor'](joint, *point)
        if closure.axis is not None:
            ode.place_joint['HingeAxis'](joint, *(motion.rotation[i] @ closure.axis))
    return joints


def place(bodies: list[int], motion: Motion) -> None:
    """Set body poses and velocities to `motion`, without forces."""
    for i, handle in enumerate(bodies):
        x, y, z, w = quaternion_from(motion.rotation[i])
        ode.set_position(handle, *motion.com[i])
        ode.set_quaternion(handle, (ode.real * 4)(w, x, y, z))
        ode.set_velocity(handle, *motion.velocity[i])
        ode.set_angular(handle, *motion.angular[i])
        ode.set_force(handle, 0.0, 0.0, 0.0)


def read_motion(bodies: list[int]) -> Motion:
    """Return poses and velocities as ODE stores them."""

    def read(getter, n):
        return np.array([getter(body)[:n] for body in bodies], dtype=float)

    return Motion(
        com=read(ode.get_position, 3),
        rotation=read(ode.get_rotation, 12).reshape(-1, 3, 4)[:, :, :3].copy(),
        velocity=read(ode.get_velocity, 3),
        angular=read(ode.get_angular, 3),
    )


@functools.cache
def _compiled_loop(quick):
    step = ode.world_quick_step if quick else ode.world_step

    @numba.njit
    def loop(world, time_step, n):
        for _ in range(n):
            step(world, time_step)

    return loop
