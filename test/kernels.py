"""
Compiles what most tests run, so that no two workers compile the same: `python test/kernels.py`.

Numba caches what one process has compiled for all others, but two that begin together both
compile. Parts that share little are compiled side by side.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
import multiprocessing
import os

import sim_bridge as sb
from sim_bridge.engine.collision.stage import DETECT, DETECT_CONVEX, DETECT_SURFACE
from sim_bridge.engine.contact.stage import CONTACT, NEWTON, SHARE
from sim_bridge.engine.loops.stage import LOOPS

STAGES = {stage.__doc__: stage for stage in (
    DETECT_SURFACE, DETECT_CONVEX, CONTACT, DETECT, LOOPS, NEWTON, SHARE)}


def compile_stage(name: str) -> None:
    """Compile one of STAGES."""
    _ = STAGES[name].address


def compile_steps() -> None:
    """Compile what bodies that touch nothing use: steps, observations, dynamics, distances."""
    for integrator in ('midpoint', 'rk5'):
        world = sb.World(integrator=integrator)
        body = world.add_body(sb.Box((1.0, 1.0, 1.0)))
        world.warm_up()
    sb.dynamics.mass_matrix(body)
    sb.dynamics.bias_forces(body)
    sb.dynamics.forward_dynamics(body, [0.0] * 6)
    sb.dynamics.inverse_dynamics(body, [0.0] * 6)
    sb.dynamics.jacobian(body, body.root_link)
    origin = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)
    sb.distance(sb.Sphere(1.0), origin, sb.Sphere(1.0), origin)


def compile_kernels() -> None:
    """Compile everything, on all processors."""
    # forked processes would share the compiler's locks
    spawn = multiprocessing.get_context('spawn')
    with ProcessPoolExecutor(os.cpu_count(), mp_context=spawn) as pool:
        # the longest first, so that all end together
        jobs = [pool.submit(compile_stage, name) for name in STAGES]
        jobs.insert(0, pool.submit(compile_steps))
        for job in jobs:
            job.result()


if __name__ == '__main__':
    compile_kernels()
