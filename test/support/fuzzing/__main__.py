"""
The long fuzz run: `make fuzz ARGS='--seconds 600 --kinds urdf,api --seed 7'`.

A child process makes and reads inputs of one kind after another, one batch each. It has memory
limits, and is ended without progress. Among inputs that fail alike the smallest is kept, with the
failure and the command that repeats it.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import os
from pathlib import Path
import random
import resource
import subprocess
import sys
import tempfile
import time
import traceback
import warnings

from fuzzing.judge import judge, nothing_left, signature
from fuzzing.kinds import KINDS
from sim_bridge.foreign.reader_process import sharing

_MEMORY_BYTES = 8 << 30
# wall-clock limit for one input; on a busy machine `SECONDS` of CPU time take much longer
_PATIENCE_S = 120.0
_CURRENT = 'current'
# exit code of a batch whose failures are kept; any other code reports a failed process
_KEPT = 3


def main() -> int:
    """Run with the command-line arguments; return 1 if an input failed."""
    parser = argparse.ArgumentParser(prog='fuzzing', description=__doc__)
    parser.add_argument(
        '--seconds', type=float, default=3600.0, help='duration [s] (default: 3600)'
    )
    parser.add_argument('--seed', type=int, help='seed of the first batch (default: random)')
    parser.add_argument('--kinds', default=','.join(KINDS), help='(default: %(default)s)')
    parser.add_argument(
        '--failures', type=Path, default=Path('fuzz'), help='folder for failures (default: ./fuzz)'
    )
    parser.add_argument('--repeat', type=Path, metavar='FILE', help='read one input again')
    parser.add_argument('--batch', help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.failures = args.failures.resolve()
    kinds = args.kinds.split(',')
    if not set(kinds) <= KINDS.keys():
        parser.error(f'--kinds {args.kinds}: known are {", ".join(KINDS)}')
    if args.repeat:
        return _repeat(args.repeat)
    if args.batch:
        return _batch(kinds[0], int(args.batch), args.failures)
    return _supervise(kinds, args.seconds, args.seed, args.failures)


def _supervise(kinds: list[str], seconds: float, seed: int | None, failures: Path) -> int:
    """Run batches in turn until the time is over; print a line for each."""
    seed = random.SystemRandom().randrange(2**32) if seed is None else seed
    failures.mkdir(parents=True, exist_ok=True)
    end, failed = time.monotonic() + seconds, False
    while time.monotonic() < end:
        for kind in kinds:
            if time.monotonic() > end:
                break
            code = _run_batch(kind, seed, failures)
            print(f'{kind}, seed {seed}: {"failures" if code else "nothing found"}', flush=True)
            failed |= code != 0
        seed += 1
    known = sorted(path.name for path in failures.glob('*.txt'))
    print(f'failures in {failures}: {", ".join(known) or "none"}')
    return int(failed)


def _run_batch(kind: str, seed: int, failures: Path) -> int:
    """Run one batch; a crash or a hang of its process is a failure of the current input."""
    command = [
        sys.executable,
        '-m',
        'fuzzing',
        '--kinds',
        kind,
        '--batch',
        str(seed),
        '--failures',
        str(failures),
    ]
    current, log = failures / _CURRENT, failures / 'log'
    with (
        log.open('w') as file,
        subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT) as process,
    ):
        seen, since = b'', time.monotonic()
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(1.0)
                break
            now = current.read_bytes() if current.exists() else b''
            if now != seen:
                seen, since = now, time.monotonic()
            elif time.monotonic() - since > _PATIENCE_S:
                process.kill()
    if process.returncode not in (0, _KEPT):
        case = current.read_bytes() if current.exists() else b''
        _keep(failures, kind, f'ended-{process.returncode}', case, log.read_text()[-20_000:])
    return process.returncode


def _batch(name: str, seed: int, failures: Path) -> int:
    """Make and read a seed's inputs; return `_KEPT` if one failed."""
    faulthandler.enable()
    warnings.simplefilter('error')
    warnings.filterwarnings('ignore', "module 'sre_")  # from imports of rclpy
    kind, rng, failed = KINDS[name], random.Random(seed), False
    with tempfile.TemporaryDirectory() as folder:
        # modules imported, code compiled and objects kept permanently
        with contextlib.suppress(Exception):
            kind.run(kind.make(random.Random(0)), Path(folder))
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
        os.chdir(folder)
        try:
            with nothing_left(kind.keeps), sharing():
                for _ in range(kind.batch):
                    case = kind.make(rng)
                    (failures / _CURRENT).write_bytes(case)
                    try:
                        judge(kind.run, case, Path(folder))
                    except Exception as err:  # noqa: BLE001 - any exception is a finding
                        failed = True
                        _keep(failures, name, signature(err), case, traceback.format_exc())
        except AssertionError as err:
            failed = True
            _keep(failures, name, f'left-behind-seed-{seed}', b'', str(err))
    return _KEPT if failed else 0


def _keep(failures: Path, kind: str, what: str, case: bytes, seen: str) -> None:
    """Write an input and its failure, unless a smaller input that fails alike is kept."""
    path = failures / f'{kind}--{what}.{KINDS[kind].suffix}'
    if path.exists() and path.stat().st_size <= len(case):
        return
    path.write_bytes(case)
    path.with_suffix('.txt').write_text(
        f"repeat: make fuzz ARGS='--repeat {path}'\n\n{seen[-20_000:]}", errors='replace'
    )


def _repeat(path: Path) -> int:
    """Read a kept input; show its outcome."""
    name = path.name.partition('--')[0]
    with tempfile.TemporaryDirectory() as folder, sharing():
        judge(KINDS[name].run, path.read_bytes(), Path(folder))
    print(f'{path}: nothing wrong')
    return 0


if __name__ == '__main__':
    sys.exit(main())
