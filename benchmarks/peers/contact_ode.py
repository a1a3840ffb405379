"""
Scenes with contacts in the Open Dynamics Engine.

Hash space, ODE's own collision functions, double precision. Numba compiles the step loop and the
callback that turns touching pairs into contact joints, as a user's C would be compiled.
"""

from __future__ import annotations

import functools
import weakref

import numba
import numpy as np

from benchmarks.mechanism import Motion, quaternion_from
from benchmarks.peers import libode as ode
from benchmarks.peers import MissingPeerError
from benchmarks.peers.ode import add_body, add_joints, place, read_motion
from benchmarks.scene import Scene, shapes_of
from benchmarks.shapes import Box, Sphere

if not ode.DOUBLE:
    raise MissingPeerError('an ODE of double precision, as of pip install dartpy')

# categories: planes, loose bodies, robots
_STATIC, _SOLID, _ROBOT = 1, 2, 4

# SimBenchmark's limit, for each shape pair
_MAX_CONTACTS = 10
# dContact in 8-byte words: dSurfaceParameters, dContactGeom, fdir1
_CONTACT_WORDS, _SURFACE_WORDS = 31, 15
_MU, _BOUNCE = 1, 6
_MODE = 0x7000 | 0x004  # dContactApprox1, dContactBounce

# words in the callback's data block: handles and sizes, contacts, then surfaces by pair
_WORLD, _GROUP, _CONTACTS, _MATERIALS, _FOUND, _HEAD = 0, 1, 2, 3, 4, 8
_TABLE = _HEAD + _MAX_CONTACTS * _CONTACT_WORDS


class OdeScene:
    """`dWorldStep`, or `dWorldQuickStep` with its 20 iterations; pyramids for friction cones."""

    version = ode.VERSION

    def __init__(self, scene: Scene, *, quick: bool = False):
        self._scene = scene
        self._loop = _compiled_loop(quick)
        self._world = ode.world_create()
        self._group = ode.joint_group_create(0)
        self._space = ode.hash_space_create(None)
        weakref.finalize(self, _destroy, self._space, self._group, self._world)
        ode.set_gravity(self._world, *scene.gravity)
        if scene.erp is not None:
            ode.set_erp(self._world, scene.erp)
        self._bodies, hinges, springs = [], [], []
        for solid in scene.solids:
            self._bodies.append(add_body(self._world, solid.mass, solid.inertia))
        for machine in scene.machines:
            bodies = [
                add_body(self._world, body.mass, body.inertia) for body in machine.mechanism.bodies
            ]
            joints = add_joints(self._world, machine.mechanism, bodies)
            self._bodies += bodies
            hinges += joints
            springs += [(rest, machine.stiffness, machine.damping) for rest in machine.rest]
        self._hinges = np.array(hinges, dtype=np.int64)
        self._springs = np.array(springs, dtype=float).reshape(-1, 3)
        self._handles = np.array(self._bodies, dtype=np.int64)
        self._forces = np.zeros((len(scene.solids), 3))
        self._block = _make_block(scene, self._world, self._group)
        self._add_shapes()
        self.reset()

    def reset(self) -> None:
        """Set the scene's initial state, without forces."""
        self._forces[:] = 0.0
        ode.seed_random(0)  # dWorldQuickStep shuffles its rows
        place(self._bodies, self._scene.start())

    def push(self, solid: int, force: np.ndarray) -> None:
        """Apply a force [N] at a loose body's centre of mass in all later steps."""
        self._forces[solid] = force

    def step(self, n: int) -> None:
        """Advance `n` steps in a compiled loop."""
        pushed = np.flatnonzero(self._forces.any(axis=1))
        self._loop(
            self._world,
            self._space,
            self._group,
            self._block,
            self._scene.time_step,
            self._handles[pushed],
            self._forces[pushed],
            self._hinges,
            self._springs,
            n,
        )

    def motion(self) -> Motion:
        """Return all body poses and velocities, as ODE stores them."""
        return read_motion(self._bodies)

    @property
    def contact_count(self) -> int:
        """Contact point count in the last step."""
        return int(self._block.view(np.int64)[_FOUND])

    def _add_shapes(self):
        index = {name: i for i, name in enumerate(self._scene.materials)}
        for plane in self._scene.planes:
            geom = ode.create_plane(self._space, *plane.normal, plane.normal @ plane.position)
            _set_role(geom, index[plane.material], _STATIC)
        materials = [solid.material for solid in self._scene.solids]
        for machine in self._scene.machines:
            materials += [machine.material] * len(machine.mechanism.bodies)
        for i, shapes in enumerate(shapes_of(self._scene)):
            for placed in shapes:
                geom = _create(self._space, placed.shape)
                ode.geom_set_body(geom, self._bodies[i])
                x, y, z, w = quaternion_from(placed.rotation)
                ode.geom_offset_position(geom, *placed.position)
                ode.geom_offset_quaternion(geom, (ode.real * 4)(w, x, y, z))
                _set_role(
                    geom, index[materials[i]], _SOLID if i < len(self._scene.solids) else _ROBOT
                )


def _destroy(space, group, world):
    ode.space_destroy(space)
    ode.joint_group_destroy(group)
    ode.world_destroy(world)


def _create(space, shape):
    if isinstance(shape, Sphere):
        return ode.create_sphere(space, shape.radius)
    if isinstance(shape, Box):
        return ode.create_box(space, *shape.size)
    return ode.create_cylinder(space, shape.radius, shape.length)


def _set_role(geom, material, role):
    partners = {
        _STATIC: _SOLID | _ROBOT,
        _SOLID: _STATIC | _SOLID | _ROBOT,
        _ROBOT: _STATIC | _SOLID,
    }
    ode.geom_set_data(geom, material)
    ode.geom_set_category(geom, role)
    ode.geom_set_collide(geom, partners[role])


def _make_block(scene, world, group):
    materials = scene.materials
    block = np.zeros(_TABLE + 2 * len(materials) ** 2)
    head = block.view(np.int64)
    head[[_WORLD, _GROUP, _MATERIALS]] = world, group, len(materials)
    head[_CONTACTS] = block.ctypes.data + 8 * _HEAD
    table = block[_TABLE:].reshape(len(materials), len(materials), 2)
    for i, a in enumerate(materials):
        for j, b in enumerate(materials):
            surface = scene.surface(a, b)
            if surface is not None:
                table[i, j] = surface.friction, surface.restitution
    return block


_collide, _create_contact, _attach = ode.collide, ode.create_contact, ode.attach
_geom_get_body, _geom_get_data = ode.geom_get_body, ode.geom_get_data


@numba.cfunc('void(voidptr, uintp, uintp)')
def _join_touching(data, a, b):
    """Make a contact joint at every touching point of two shapes (dNearCallback)."""
    size = _TABLE
    head = numba.carray(data, (size,), np.int64)
    n = head[_MATERIALS]
    block = numba.carray(data, (size + 2 * n * n,), np.float64)
    contacts = head[_CONTACTS]
    found = _collide(a, b, _MAX_CONTACTS, contacts + 8 * _SURFACE_WORDS, 8 * _CONTACT_WORDS)
    if found == 0:
        return
    pair = _TABLE + 2 * (_geom_get_data(a) * n + _geom_get_data(b))
    first, second = _geom_get_body(a), _geom_get_body(b)
    for i in range(found):
        start = _HEAD + i * _CONTACT_WORDS
        head[start] = _MODE
        block[start + _MU], block[start + _BOUNCE] = block[pair], block[pair + 1]
        joint = _create_contact(head[_WORLD], head[_GROUP], contacts + 8 * _CONTACT_WORDS * i)
        _attach(joint, first, second)
    head[_FOUND] += found


@functools.cache
def _compiled_loop(quick):
    world_step = ode.world_quick_step if quick else ode.world_step
    space_collide, empty, set_force = ode.space_collide, ode.joint_group_empty, ode.set_force
    hinge_angle, hinge_rate = ode.hinge_angle, ode.hinge_rate
    add_torque = ode.add_hinge_torque
    callback = _join_touching.address

    @numba.njit
    def loop(world, space, group, block, time_step, pushed, forces, hinges, springs, n):
        address, found = block.ctypes.data, block.view(np.int64)
        for _ in range(n):
            found[_FOUND] = 0
            space_collide(space, address, callback)
            for i in range(len(pushed)):
                set_force(pushed[i], forces[i, 0], forces[i, 1], forces[i, 2])
            for i in range(len(hinges)):
                rest, stiffness, damping = springs[i, 0], springs[i, 1], springs[i, 2]
                add_torque(
                    hinges[i],
                    stiffness * (rest - hinge_angle(hinges[i])) - damping * hinge_rate(hinges[i]),
                )
            world_step(world, time_step)
            empty(group)

    return loop
