"""Two descriptions of one robot from different files: equations of motion and paths."""

from __future__ import annotations

import numpy as np

import sim_bridge as sb
from sim_bridge.description.model import JointType, RobotDescription


def differences(
    own: RobotDescription, other: RobotDescription, seed: int = 0, steps: int = 200
) -> dict[str, float]:
    """
    Return the greatest differences between two robots, relative to the greatest number.

    Both take the same random state, by joint names; then both move freely for some steps.
    """
    worlds, robots = [], []
    for description in (own, other):
        world = sb.World(gravity=(0.3, -0.4, -9.81), time_step=0.001)
        robots.append(world.add_robot(description, collisions='none'))
        worlds.append(world)
    one, two = robots
    names = [name for name in one.joint_names if name]
    assert set(names) == {name for name in two.joint_names if name}
    rng = np.random.default_rng(seed)
    order = [two.joint_names.index(name) for name in names]
    q, v = sb.dynamics.neutral_configuration(one), sb.dynamics.velocity(one)
    own_first = [one.joint_names.index(name) for name in names]
    base = (0, 0) if one.fixed_base else (7, 6)
    assert one.fixed_base == two.fixed_base
    values, rates = rng.uniform(-0.3, 0.3, len(names)), rng.normal(size=len(names))
    states = []
    for robot, places in ((one, own_first), (two, order)):
        q, v = sb.dynamics.neutral_configuration(robot), 0.0 * sb.dynamics.velocity(robot)
        for place, value, rate in zip(places, values, rates, strict=True):
            q[base[0] + place], v[base[1] + place] = value, rate
        sb.dynamics.set_configuration(robot, q, v)
        turn = [*range(base[1]), *(base[1] + place for place in places)]
        states.append((robot, turn))
    found = {'mass': _error(one.mass, two.mass)}
    masses, biases = [], []
    for robot, turn in states:
        masses.append(sb.dynamics.mass_matrix(robot)[np.ix_(turn, turn)])
        biases.append(sb.dynamics.bias_forces(robot)[turn])
    found['mass matrix'] = _error(*masses)
    found['bias force'] = _error(*biases)
    links = {link.name: link for link in two.links}
    pairs = [(link, links[link.name]) for link in one.links if link.name in links]
    found['pose'] = max(max(_error(a.p, b.p, 1.0), _error(a.R, b.R)) for a, b in pairs)
    for world in worlds:
        world.step(steps)
    found['path'] = max(_error(a.p, b.p, 1.0) for a, b in pairs)
    return found


def is_ball(description: RobotDescription) -> bool:
    """Return whether a robot has ball joints."""
    return any(joint.type is JointType.BALL for joint in description.joints.values())


def _error(one: object, other: object, least: float = 1e-3) -> float:
    a, b = np.asarray(one, dtype=float), np.asarray(other, dtype=float)
    return float(np.abs(a - b).max(initial=0.0) / max(np.abs(a).max(initial=0.0), least))
