"""`Host` process: makes the requested runs, until its parent ends."""

from __future__ import annotations

import faulthandler
from multiprocessing.connection import Connection
import os
import sys
import threading

from sim_bridge.foundation.errors import SimBridgeError
from sim_bridge.sweep.host import LOADED


def main(descriptor: int, source: str) -> int:
    """Make runs for the study in a file; descriptor: socket with the requests."""
    # the parent may end during imports and compilation
    threading.Thread(target=_watch, args=(os.dup(descriptor),), daemon=True).start()
    connection = Connection(descriptor)
    try:
        make_run, study = _prepare(source)
    except (SimBridgeError, ImportError) as err:
        connection.send(str(err))
        return 1
    while True:
        try:
            job = connection.recv()
        except EOFError:
            return 0
        try:
            row = make_run(study, job.run, job.bag, lambda: connection.send(LOADED))
        except SimBridgeError as err:
            # an error from the bag, not from the run
            connection.send(str(err))
            return 1
        connection.send(row)


def _prepare(source: str):  # type: ignore[no-untyped-def]  # the function is imported only here
    # imported here, so that import errors reach the parent
    from sim_bridge.ros.process.prefix import set_prefix
    from sim_bridge.sweep.study import read_study

    study = read_study(source)
    set_prefix()
    from sim_bridge.sweep.one_run import make_run

    return make_run, study


def _watch(descriptor: int) -> None:
    """Kill this process group when the other end of a socket closes."""
    import select
    import signal

    poll = select.poll()
    # POLLHUP and POLLERR need no request
    poll.register(descriptor, select.POLLRDHUP)
    while not any(
        events & (select.POLLHUP | select.POLLRDHUP | select.POLLERR) for _, events in poll.poll()
    ):
        pass
    os.killpg(os.getpgid(0), signal.SIGKILL)


if __name__ == '__main__':
    faulthandler.enable()
    sys.exit(main(int(sys.argv[1]), sys.argv[2]))
