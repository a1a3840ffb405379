"""Child processes started and ended together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
import contextlib
import os
import selectors
import signal
import subprocess
import time

from sim_bridge.ros.process.lifeline import ENDS_WITH_STDIN, READY, WAITS_FOR_STDIN

# signals asking a child to end, each with the time before the next one [s]
STAGES = ((signal.SIGINT, 6.0), (signal.SIGTERM, 3.0), (signal.SIGKILL, 3.0))

_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_READ_SIZE = 65536


class Child:
    """Supervised process: name, exit code and output by line."""

    def __init__(
        self, name: str, command: Sequence[str], environment: Mapping[str, str], waits: bool
    ) -> None:
        """
        Start `command`, protected from the terminal's Ctrl-C.

        waits: whether it waits for `release` before it joins the graph.
        """
        self.name = name
        self.is_ready = False  # whether it has reported to be ready
        self._ready, ready = os.pipe()
        os.set_blocking(self._ready, False)
        self.is_silent = False  # whether it has closed its output, as at its end
        self._partial = b''
        own = {ENDS_WITH_STDIN: '1', READY: str(ready)}
        if waits:
            own[WAITS_FOR_STDIN] = '1'
        try:
            self._process = subprocess.Popen(
                command,
                env={**environment, **own},
                stdin=subprocess.PIPE,  # the child notices when it is closed
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=[ready],
            )
        finally:
            os.close(ready)
        # not None, because the process was started with pipes
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin, self._process.stdout
        os.set_blocking(self.output, False)

    @property
    def output(self) -> int:
        """File descriptor of the child's standard output and standard error."""
        return self._output.fileno()

    @property
    def exit_code(self) -> int | None:
        """Child's exit code, minus the signal number if a signal ended it; None while it runs."""
        return self._process.poll()

    def tell(self, number: signal.Signals) -> None:
        """Send a signal to the child alone; SIGKILL also goes to its descendants."""
        if number is signal.SIGKILL:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)
        else:
            self._process.send_signal(number)

    def read_lines(self) -> Iterator[str]:
        """Yield the lines written since the last call; at the end also the unfinished one."""
        while not self.is_silent:
            try:
                data = os.read(self.output, _READ_SIZE)
            except BlockingIOError:
                return
            self.is_silent = not data
            *lines, self._partial = (self._partial + data).split(b'\n')
            for line in lines:
                yield line.decode(errors='replace')
        if self._partial:
            yield self._partial.decode(errors='replace')
            self._partial = b''

    def look(self) -> None:
        """Note whether the child has reported that it is ready."""
        if not self.is_ready:
            with contextlib.suppress(BlockingIOError):
                self.is_ready = bool(os.read(self._ready, 1))

    def release(self) -> None:
        """Let a waiting child join the ROS graph."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self._input.fileno(), b'.')

    def close(self) -> None:
        """Close the pipes to the child."""
        os.close(self._ready)
        self._input.close()
        self._output.close()


class Supervisor:
    """
    Starts processes, passes on their output, and ends them all.

    The first one leads: the others load at the same time, but join the graph only when the leader
    is ready, so that none connects to another simulation if the leader fails.

    Use it as a context. Inside, SIGINT, SIGTERM and SIGHUP do not end this process but set
    `stop_signal`, however often they arrive. Call `wait` repeatedly: nothing happens between the
    calls. At the end, running children are asked to end by SIGINT, then SIGTERM, then SIGKILL.
    """

    def __init__(
        self,
        commands: Mapping[str, Sequence[str]],
        environment: Mapping[str, str],
        show: Callable[[str], None],
    ) -> None:
        """
        Prepare to run `commands`, by name, in `environment`.

        show: takes a line for the user.
        """
        self._commands, self._environment, self._show = commands, environment, show
        self.children: list[Child] = []
        self.first_ended: Child | None = None
        self.stop_signal: signal.Signals | None = None
        self.is_ready = False
        self._cleanup = contextlib.ExitStack()
        self._selector = selectors.DefaultSelector()

    def __enter__(self) -> Supervisor:
        """Start the processes."""
        self._cleanup.callback(self._selector.close)
        self._catch_signals()
        self._cleanup.callback(self._stop)
        try:
            for name, command in self._commands.items():
                child = Child(name, command, self._environment, waits=bool(self.children))
                self.children.append(child)
                self._selector.register(child.output, selectors.EVENT_READ, child)
        except BaseException:
            self._cleanup.close()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        """End running processes, and restore the signal handlers."""
        self._cleanup.close()

    def wait(self, seconds: float) -> None:
        """
        Pass on the children's output, and note the first one that ends, for at most `seconds`.

        Returns early if a signal arrives (also SIGCHLD at a child's end), or if a child writes.
        """
        for key, _ in self._selector.select(max(seconds, 0.0)):
            if key.data is None:
                os.read(key.fd, _READ_SIZE)
            else:
                self._pass_on(key.data)
        if not self.is_ready and self.children:
            leader, *others = self.children
            leader.look()
            if leader.is_ready:
                self.is_ready = True
                for child in others:
                    child.release()
        for child in self.children:
            if self.first_ended is None and child.exit_code is not None:
                self._pass_on(child)  # its last output, before its end is reported
                self.first_ended = child

    def _pass_on(self, child: Child) -> None:
        if child.is_silent:
            return
        for line in child.read_lines():
            self._show(f'[{child.name}] {line}')
        if child.is_silent:
            self._selector.unregister(child.output)

    def _catch_signals(self) -> None:
        """Make every signal, also SIGCHLD, wake up `wait` through a pipe."""
        reader, writer = os.pipe()
        for end in (reader, writer):
            os.set_blocking(end, False)
            self._cleanup.callback(os.close, end)
        self._selector.register(reader, selectors.EVENT_READ)
        previous = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        self._cleanup.callback(signal.set_wakeup_fd, previous)
        for number in _STOP_SIGNALS:
            # a process started by nohup outlives its terminal
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                self._cleanup.callback(
                    signal.signal, number, signal.signal(number, self._note_stop)
                )
        self._cleanup.callback(
            signal.signal, signal.SIGCHLD, signal.signal(signal.SIGCHLD, lambda *_: None)
        )

    def _note_stop(self, number: int, frame: object) -> None:
        self.stop_signal = self.stop_signal or signal.Signals(number)

    def _stop(self) -> None:
        for number, patience in STAGES:
            running = [child for child in self.children if child.exit_code is None]
            if not running:
                break
            if number is not STAGES[0][0]:
                names = ' and '.join(child.name for child in running)
                self._show(f'{names} still running: sending {number.name}')
            for child in running:
                child.tell(number)
            deadline = time.monotonic() + patience
            while time.monotonic() < deadline and any(c.exit_code is None for c in running):
                self.wait(deadline - time.monotonic())
        for child in self.children:
            self._pass_on(child)
            child.close()


def describe_exit(code: int) -> str:
    """Return in words how a process with this exit code ended."""
    if code < 0:
        return f'was ended by {signal.Signals(-code).name}'
    return f'ended with exit code {code}'


def is_clean_exit(code: int) -> bool:
    """Return whether this exit code means that a process ended on request."""
    return code in (0, -signal.SIGINT, -signal.SIGTERM)
