"""`sim_bridge compile`: compile all kernels now, so that no later start has to."""

from __future__ import annotations

import argparse
import time


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this verb to the command line."""
    parser = subparsers.add_parser(
        'compile',
        help='compile all kernels now, for container images and CI',
        description='Compile all kernels that are not compiled yet, so that no later start has '
        'to. Compiled kernels are shared by all checkouts, environments and Python versions of a '
        'user on processors of one kind; SIM_BRIDGE_CACHE_DIR chooses their folder.',
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Compile; return the exit code: 1 where the result cannot be kept."""
    from sim_bridge.compiler import objects
    from sim_bridge.compiler.build import build, missing
    from sim_bridge.ros.session.units import message_units
    from sim_bridge.simulation.handles import all_units

    start = time.perf_counter()
    units = [*all_units(), *message_units()]
    wanted = missing(units)
    build(units)
    folder = objects.folder()
    if wanted:
        print(
            f'compiled {len(wanted)} of {len(units)} units in {time.perf_counter() - start:.1f} s'
        )
    else:
        print(f'all {len(units)} units were compiled before')
    if folder is not None:
        print(f'in {folder}')
    # a folder that is only read may hold them all
    return 1 if wanted and folder is None else 0
