"""The judge: allowed outcomes and leftovers of an input."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import contextlib
import gc
import os
from pathlib import Path
import signal
import threading
import time
import traceback

import numpy as np

from sim_bridge.description import DescriptionError
from sim_bridge.foundation.errors import SimBridgeError

# CPU time in this process; readers of foreign files have their own limits
SECONDS = 10.0
# an alternatives list may reach the maximum of 2000 characters for a value
LONGEST_ERROR = 5000
_PATIENCE_S = 5.0


class HangError(Exception):
    """An input took longer than `SECONDS`."""


def judge(run: Callable[[bytes, Path], None], case: bytes, folder: Path) -> bool:
    """
    Read an input; return whether it was accepted instead of refused with a bounded message.

    Any other exception is raised, a HangError if it took too long.
    """
    try:
        with limited(SECONDS), np.errstate(all='ignore'):
            run(case, folder)
            return True
    except SimBridgeError as err:
        check_words(err)
        return False


def check_words(err: SimBridgeError) -> None:
    """Raise AssertionError for an error without a message, or with too long a message."""
    said = (
        [finding.message for finding in err.report.findings]
        if isinstance(err, DescriptionError)
        else [str(err)]
    )
    if not said or not all(said):
        raise AssertionError(f'no words: {type(err).__name__}') from err
    if max(map(len, said)) > LONGEST_ERROR:
        raise AssertionError(f'{max(map(len, said))} characters: {max(said)[:300]}') from err


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise HangError in a block that takes more CPU time."""

    def stop(*_: object) -> None:
        raise HangError(f'not done within {seconds:g} s of the processor')

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


@contextlib.contextmanager
def nothing_left(but: str = '') -> Iterator[None]:
    """Fail if a block leaves threads, open files (except one kind) or processes behind."""
    before = _held()
    yield
    gc.collect()
    # idle threads of a pool end soon after it
    end = time.monotonic() + _PATIENCE_S
    while (after := _held())['threads'] - before['threads'] and time.monotonic() < end:
        time.sleep(0.01)
    for what, held in after.items():
        left = sorted(each for each in held - before[what] if not but or but not in each)
        assert not left, f'{what} left behind: {left}'


def _held() -> dict[str, set[str]]:
    """Return the resources held by this process, by kind."""
    children = Path(f'/proc/self/task/{os.getpid()}/children')
    files = set()
    for number in os.listdir('/proc/self/fd'):
        with contextlib.suppress(OSError):
            files.add(f'{number}: {os.readlink(f"/proc/self/fd/{number}")}')
    return {
        'threads': {f'{each.name} {each.ident}' for each in threading.enumerate()},
        'files': files,
        'processes': set(children.read_text().split()),
    }


def signature(err: BaseException) -> str:
    """Return an error's origin in one word: its type and our innermost function."""
    frames = [
        frame
        for frame in traceback.extract_tb(err.__traceback__)
        if '/sim_bridge/' in frame.filename
    ]
    where = f'{Path(frames[-1].filename).stem}-{frames[-1].name}' if frames else 'outside'
    return f'{type(err).__name__}-{where}'.replace('<', '').replace('>', '')
