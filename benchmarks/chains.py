"""The benchmarks' mechanisms: chains with any length, four real robots, the energy scenes."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import numpy as np

from benchmarks.mechanism import Body, Closure, FREE, Mechanism, REVOLUTE, State
from benchmarks.urdf import example_robot, read_urdf

CHAIN_LENGTHS = (7, 16, 32, 64, 128)

# name: file in example-robot-data, free root
REAL_ROBOTS = {
    'ur5': ('ur_description/urdf/ur5_robot.urdf', False),
    'panda': ('panda_description/urdf/panda.urdf', False),
    'anymal_b': ('anymal_b_simple_description/robots/anymal.urdf', True),
    'talos': ('talos_data/robots/talos_full_v2.urdf', True),
}

_OUR_ROBOTS = Path(__file__).parent.parent / 'urdf'


def chain(n: int) -> Mechanism:
    """
    Return a hanging chain of `n` equal links with hinge axes alternating between x and y.

    Each link is a uniform bar of 0.04 x 0.04 x 0.2 m and 1 kg; the next one hangs on its end.
    """
    size, mass = np.array([0.04, 0.04, 0.2]), 1.0
    inertia = mass / 12.0 * np.diag(size @ size - size**2)
    return Mechanism(
        f'chain_{n}',
        tuple(
            Body(
                name=f'link_{i}',
                joint_name=f'joint_{i}',
                parent=i - 1,
                joint=REVOLUTE,
                mass=mass,
                com=np.array([0.0, 0.0, -size[2] / 2]),
                inertia=inertia,
                position=np.array([0.0, 0.0, -size[2] if i else 0.0]),
                axis=np.eye(3)[i % 2],
            )
            for i in range(n)
        ),
    )


def tower(cells: int, more: int, hinges: bool) -> Mechanism:
    """
    Return a hanging tower of parallelograms in alternating planes, with a chain of bars below.

    Each cell has two bars of 0.2 m, 0.3 m apart, and a plate on both ends. One of the four
    joints in a cell closes a loop; the other three belong to the tree. hinges: whether the closing
    joints are hinges; otherwise they only keep two points together.
    """
    down, across = np.array([0.0, 0.0, -0.2]), 0.3
    bodies, closures, parent, place = [], [], -1, np.zeros(3)
    for k in range(cells):
        # plates along x and y in turns, like the axes
        way, axis = np.eye(3)[k % 2], np.eye(3)[1 - k % 2]
        first = len(bodies)
        middle = np.zeros(3) if parent < 0 else place
        for side, sign in (('left', -0.5), ('right', 0.5)):
            bodies.append(_bar(f'{side}_{k}', parent, middle + sign * across * way, down, axis))
        bodies.append(_bar(f'plate_{k}', first, down, across * way, axis))
        closures.append(
            Closure(first + 1, first + 2, down, across * way, axis if hinges else None)
        )
        parent, place = first + 2, 0.5 * across * way
    for k in range(more):
        bodies.append(_bar(f'bar_{k}', parent, place, down, np.eye(3)[k % 2]))
        parent, place = len(bodies) - 1, down
    return Mechanism(f'tower_{cells}_{more}', tuple(bodies), tuple(closures))


def tower_state(mechanism: Mechanism, angle: float = 0.3) -> State:
    """Return a tower state at rest, with slanted and closed parallelograms."""
    turned = {'left': angle, 'right': angle, 'plate': -angle, 'bar': angle}
    q = [turned[body.name.partition('_')[0]] for body in mechanism.bodies]
    return State(q=np.array(q), dq=np.zeros(len(q)))


def _bar(name, parent, position, way, axis):
    """Return a bar of 0.5 kg, 0.03 m thick, from the origin along `way`."""
    mass, length, thick = 0.5, np.linalg.norm(way), 0.03
    along = np.outer(way, way) / length**2
    inertia = mass / 12.0 * ((length**2 + thick**2) * (np.eye(3) - along) + 2.0 * thick**2 * along)
    return Body(
        name=name,
        joint_name=f'joint_{name}',
        parent=parent,
        joint=REVOLUTE,
        mass=mass,
        com=0.5 * way,
        inertia=inertia,
        position=position,
        axis=axis,
    )


def find_missing_robots() -> dict[str, str]:
    """Return how to install the real robots, if they are missing."""
    try:
        metadata.distribution('example-robot-data')
    except metadata.PackageNotFoundError:
        return {'real robots': 'pip install example-robot-data'}
    return {}


def real_robot(name: str, *, shapes: bool = False) -> Mechanism:
    """Read one of REAL_ROBOTS, bare: masses and joints only, optionally with shapes."""
    path, free_root = REAL_ROBOTS[name]
    return read_urdf(example_robot(path), name, free_root=free_root, shapes=shapes)


def our_robot(name: str, *, shapes: bool = False) -> Mechanism:
    """Read one of this package's robots, with a free root."""
    return read_urdf(_OUR_ROBOTS / f'{name}.urdf', name, free_root=True, shapes=shapes)


def double_pendulum() -> Mechanism:
    """Read this package's double pendulum."""
    return read_urdf(_OUR_ROBOTS / 'double_pendulum.urdf')


def box() -> Mechanism:
    """Return the free 0.1 x 0.4 x 0.9 m, 10 kg box of scpeters/benchmark."""
    return single_body('box', 10.0, np.diag([0.80833333, 0.68333333, 0.14166667]))


def single_body(
    name: str, mass: float, inertia: np.ndarray, com: tuple[float, float, float] = (0.0, 0.0, 0.0)
) -> Mechanism:
    """Return one free body."""
    return Mechanism(
        name,
        (
            Body(
                name=name,
                joint_name='root',
                parent=-1,
                joint=FREE,
                mass=mass,
                com=np.array(com),
                inertia=inertia,
            ),
        ),
    )
