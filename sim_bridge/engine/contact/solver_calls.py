"""
Calls into solver stages for one island, named for their task.

A solver stage is compiled only for worlds that need it; its address is a field of the options.
"""

from sim_bridge.compiler.kernel import kernel
from sim_bridge.compiler.stage import call_stage


@kernel
def solve_by_newton(options, table, island):
    """Solve an island by Newton steps; return their number."""
    return call_stage(options.newton, table, island)


@kernel
def solve_normals(options, table, island):
    """Solve an island's normal impulses by Newton steps, at fixed friction impulses."""
    return call_stage(options.newton, table, normals_alone(island))


@kernel
def share_impulses(options, table, island):
    """Distribute impulses evenly over an island's redundant contacts."""
    return call_stage(options.share, table, island)


@kernel
def solve_by_pair_types(options, table, island):
    """Solve an island with solve types of material pairs; return 0 if no pair has one."""
    return call_stage(options.hybrid, table, island)


@kernel
def normals_alone(island):
    """Return the options.newton phase that solves an island without friction."""
    return -1 - island


@kernel
def island_of_phase(phase):
    """Decode an options.newton phase: return its island, and whether it is frictionless."""
    return (phase, False) if phase >= 0 else (-1 - phase, True)
