"""A chain moving through a medium."""

from __future__ import annotations

import numpy as np
from robots import joint, link, robot

import sim_bridge as sb

SETTINGS = (
    'linear_velocity_damping',
    'angular_velocity_damping',
    'mass_coefficients',
    'inertia_coefficients',
)


def stir(body, seed=1):
    """Add medium forces to all links of a robot, each with its own parameters."""
    rng = np.random.default_rng(seed)
    for each in body.links:
        for setting in SETTINGS:
            setattr(each, setting, rng.uniform(0.1, 2.0, 3))


def chain(free=True):
    """Return a chain with two links fixed together to one body."""
    return robot(
        link('base', 2.0 if free else 0.0, (0.1, 0.0, 0.05), (0.02, 0.03, 0.04)),
        link('a', 1.0, (0.0, 0.1, -0.2), (0.01, 0.02, 0.015)),
        link('tip', 0.5, (0.05, 0.0, -0.1), (0.004, 0.003, 0.005)),
        link('b', 0.7, (0.02, -0.1, 0.1), (0.01, 0.01, 0.005)),
        joint('one', 'base', 'a', 'continuous', (0, 1, 0), (0.1, 0, -0.2)),
        joint('weld', 'a', 'tip', 'fixed', xyz=(0, 0.1, -0.3), rpy=(0.4, 0.3, -0.2)),
        joint('two', 'tip', 'b', 'continuous', (1, 0, 0), (0, 0, -0.2)),
    )


def swimming(time_step=1e-3, integrator='midpoint', free=True):
    """Return a world with the chain moving through a medium, and the chain."""
    world = sb.World(time_step=time_step, integrator=integrator)
    body = world.load_urdf(chain(free), base='free' if free else 'fixed')
    body.q, body.dq = [0.7, -0.4], [2.0, -3.0]
    if free:
        body.set_base_velocity((1.0, -0.5, 0.3), (0.5, 1.0, -2.0))
    stir(body)
    return world, body
