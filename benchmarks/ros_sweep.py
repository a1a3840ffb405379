"""
What sweeps cost beside the runs themselves: processes, rows, and Ray's tasks.

    python benchmarks/ros_sweep.py --runs 200

The same runs of the arm under PD control are made in this process, by one process of a sweep, and
by one processor of a Ray cluster that is started here, in batches of several sizes; so are tasks
of Ray that do nothing. It prints milliseconds for each run, and bytes for each row.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
import pickle
import tempfile
import time

from sim_bridge.ros.process.prefix import set_prefix
from sim_bridge.sweep.local import LocalExecutor
from sim_bridge.sweep.rows import Row
from sim_bridge.sweep.store import Store
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


def in_this_process(study: Study, count: int) -> list[Row]:
    """Make the runs here."""
    from sim_bridge.sweep.one_run import make_run

    return [make_run(study, run) for run in range(count)]


def on_ray(study: Study, sizes: list[int], count: int) -> dict[str, float]:
    """Return milliseconds for each run in batches of several sizes, and for a task of nothing."""
    import ray

    from sim_bridge.sweep.on_ray import Batch, make_batch

    ray.init(address='local', num_cpus=1, include_dashboard=False, log_to_driver=False,
             logging_level='error')
    task, nothing = ray.remote(num_cpus=1)(make_batch), ray.remote(num_cpus=1)(len)
    source = str(study.source)

    def timed(size: int) -> float:
        begun = time.perf_counter()
        ray.get([task.remote(Batch(source, study.digest, 600.0, tuple(range(k, k + size))))
                 for k in range(0, count - size + 1, size)])
        return 1e3 * (time.perf_counter() - begun) / (count // size * size)

    timed(count)
    found = {f'batches of {size}': timed(size) for size in sizes}
    ray.get([nothing.remote(()) for _ in range(100)])
    begun = time.perf_counter()
    ray.get([nothing.remote(()) for _ in range(2000)])
    found['a task of nothing'] = 1e3 * (time.perf_counter() - begun) / 2000
    ray.shutdown()
    return found


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
        in_this_process(study, 5)
        begun = time.perf_counter()
        rows = in_this_process(study, args.runs)
        alone = 1e3 * (time.perf_counter() - begun) / args.runs
        load = 1e3 * sum(row.load_s for row in rows) / len(rows)
        print(f'{"in this process":24}{alone:8.2f} ms, of which {load:.2f} ms build the world')
        executor = LocalExecutor(1, 600.0, keeps=True)
        list(executor.rows(study, range(5)))
        begun = time.perf_counter()
        list(executor.rows(study, range(args.runs)))
        apart = 1e3 * (time.perf_counter() - begun) / args.runs
        print(f'{"by another process":24}{apart:8.2f} ms')
        begun = time.perf_counter()
        with Store(study, Path(folder) / 'results') as store:
            sweep(store, executor, lambda progress: None)
            size = (Path(folder) / 'results' / 'results.parquet').stat().st_size
        print(f'{"by a sweep":24}{1e3 * (time.perf_counter() - begun) / args.runs:8.2f} ms')
        executor.close()
        for name, value in on_ray(study, [1, 5, 20, 50], args.runs).items():
            print(f'{"on Ray, " + name:24}{value:8.2f} ms')
        print(f'a row: {len(pickle.dumps(rows[0]))} bytes pickled, '
              f'{len(json.dumps(rows[0].same()))} as JSON, {size / args.runs:.0f} in Parquet')


if __name__ == '__main__':
    main()
