"""`sim_bridge compile`: compile all kernels now, so that later starts need no compilation."""

from __future__ import annotations

import argparse
import time


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this verb to the command line."""
    parser = subparsers.add_parser(
        'compile',
        help='compile all kernels now, for container images and CI',
        description='Compile all missing kernels, so that later starts need no compilation. '
        'All checkouts, environments and Python versions of a user share compiled kernels on '
        'equal processors; SIM_BRIDGE_CACHE_DIR selects the folder.',
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Compile; return the exit code: 1 if the result cannot be kept."""
    from sim_bridge.compiler.build import build, missing
    from sim_bridge.ros.session.units import message_units
    from sim_bridge.simulation.handles import all_units
    from sim_bridge.trust.folders import folder

    start = time.perf_counter()
    units = [*all_units(), *message_units()]
    wanted = missing(units)
    build(units)
    kept = folder()
    if wanted:
        print(
            f'compiled {len(wanted)} of {len(units)} units in {time.perf_counter() - start:.1f} s'
        )
    else:
        print(f'all {len(units)} units were already compiled')
    if kept is not None:
        print(f'in {kept}')
    # without compilation, a read-only folder may contain all units
    return 1 if wanted and kept is None else 0
