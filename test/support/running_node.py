"""A node in its own process, and its output."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading

from ending_with_tests import ending_with_tests
from ros_graph import PATIENCE_S


class Running:
    """A node as a process, and its output."""

    def __init__(self, *arguments: object):
        """Start it."""
        self.process = subprocess.Popen(
            ending_with_tests(sys.executable, *arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.said = ''
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def hear(self, pattern: str) -> str:
        """Wait until a pattern appears in the output; return its group."""
        with self._changed:
            assert self._changed.wait_for(
                lambda: re.search(pattern, self.said) or self.process.poll() is not None,
                PATIENCE_S,
            ), f'waited in vain for {pattern}: {self.said}'
        found = re.search(pattern, self.said)
        assert found, self.said
        return found[1] if found.groups() else found[0]

    def end(self) -> int:
        """End it as by Ctrl-C; return its exit code."""
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(PATIENCE_S)
        self._reader.join()
        return code

    def kill(self) -> None:
        """Kill it unconditionally."""
        self.process.kill()
        self.process.wait()
        self._reader.join()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                with self._changed:
                    self.said += line
                    self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()


def node(*parameters: str) -> Running:
    """Start a node with parameters NAME:=VALUE."""
    return Running(
        '-m',
        'sim_bridge',
        'node',
        '--ros-args',
        *(word for each in parameters for word in ('-p', each)),
    )
