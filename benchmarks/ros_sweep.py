"""
Costs in a sweep besides the runs themselves: processes, rows, and Ray's tasks.

    python benchmarks/ros_sweep.py --runs 200

The same runs of the arm under PD control are made in this process, by one sweep process, and
by one Ray cluster processor started here, in batches of several sizes; empty Ray tasks are
measured too. It prints milliseconds per run, and bytes per row.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
import pickle
import secrets
import tempfile
import time

from sim_bridge.ros.process.prefix import set_prefix
from sim_bridge.sweep.local import LocalExecutor
from sim_bridge.sweep.rows import Row
from sim_bridge.sweep.store import read_results, RESULTS, Store
from sim_bridge.sweep.study import read_study, Study
from sim_bridge.sweep.sweep import sweep

STUDY = """
study:
  design: random
  samples: {runs}
  vary:
    frequency: {{path: controller.natural_frequency, uniform: [20, 60]}}
    friction: {{path: changes.arm.joints.joint_2.friction, uniform: [0, 2]}}
  run:
    robot: arm
    duration: {seconds}
    parameters: {{rate: 500, initial_positions: [0, 0.6, 0, -1.2, 0, 0.8, 0]}}
    controller: {{kind: pd}}
  measure:
    sag: last(joint_states.position[joint_2]) - 0.6
    effort: rms(joint_states.effort)
"""


def print_costs(label: str, seconds: float, rows: list[Row]) -> None:
    """Print the time per run and the time outside the run, in milliseconds."""
    each, own = 1e3 * seconds / len(rows), 1e3 * sum(row.wall_s for row in rows) / len(rows)
    print(f'{label:28}{each:8.2f} {own:8.2f} {each - own:8.2f}', flush=True)


def in_this_process(study: Study, count: int) -> None:
    """Make runs in this process."""
    from sim_bridge.sweep.one_run import make_run

    make_run(study, 0)
    begun = time.perf_counter()
    rows = [make_run(study, run) for run in range(count)]
    print_costs('in this process', time.perf_counter() - begun, rows)
    load = 1e3 * sum(row.load_s for row in rows) / count
    print(f'{"  of which to build the world":28}{"":8} {load:8.2f}')


def by_a_sweep(study: Study, folder: Path, count: int) -> tuple[Row, int]:
    """Make runs by one other process, and by a sweep; return a row and the total bytes."""
    executor = LocalExecutor(1, 600.0, keeps=True)
    list(executor.rows(study, range(5)))
    begun = time.perf_counter()
    rows = [row for rows in executor.rows(study, range(count)) for row in rows]
    print_costs('by another process', time.perf_counter() - begun, rows)
    begun = time.perf_counter()
    with Store(study, folder) as store:
        sweep(store, executor, lambda progress: None)
        took = time.perf_counter() - begun
    print_costs('by a sweep', took, read_results(study, folder))
    executor.close()
    return rows[0], (folder / RESULTS).stat().st_size


def _nothing() -> None:
    """Do nothing."""


def on_ray(study: Study, sizes: list[int], count: int) -> None:
    """Make runs by Ray tasks of several sizes, and by empty tasks."""
    # its own token: Ray would write one to the user's folder
    os.environ.update(RAY_AUTH_MODE='token', RAY_AUTH_TOKEN=secrets.token_hex(32))
    import ray

    from sim_bridge.sweep.on_ray import Batch, make_batch

    ray.init(
        address='local',
        num_cpus=1,
        include_dashboard=False,
        log_to_driver=False,
        logging_level='error',
    )
    task, nothing = ray.remote(num_cpus=1)(make_batch), ray.remote(num_cpus=1)(_nothing)
    source = str(study.source)
    ray.get(task.remote(Batch(source, study.digest, 600.0, (0, 1))))
    for size in sizes:
        begun = time.perf_counter()
        rows = ray.get(
            [
                task.remote(Batch(source, study.digest, 600.0, tuple(range(k, k + size))))
                for k in range(0, count - size + 1, size)
            ]
        )
        print_costs(
            f'on Ray, batches of {size}',
            time.perf_counter() - begun,
            [row for batch in rows for row in batch],
        )
    ray.get([nothing.remote() for _ in range(100)])
    begun = time.perf_counter()
    ray.get([nothing.remote() for _ in range(2000)])
    print(f'{"on Ray, an empty task":28}{1e3 * (time.perf_counter() - begun) / 2000:8.2f}')
    ray.shutdown()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--runs', type=int, default=200, help='how many (200)')
    parser.add_argument('--seconds', type=float, default=1.0, help='simulated in each (1)')
    args = parser.parse_args()
    set_prefix()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / 'study.yaml'
        file.write_text(STUDY.format(runs=args.runs, seconds=args.seconds))
        study = read_study(file)
        print(f'{"ms for each run":28}{"all":>8} {"runs":>8} {"beside":>8}')
        in_this_process(study, args.runs)
        row, size = by_a_sweep(study, Path(folder) / 'results', args.runs)
        on_ray(study, [size for size in (1, 5, 20) if size <= args.runs], args.runs)
        print(
            f'a row: {len(pickle.dumps(row))} bytes pickled, {len(json.dumps(row.same()))} as '
            f'JSON, {size / args.runs:.0f} in Parquet'
        )


if __name__ == '__main__':
    main()
