"""Interrupts: a KeyboardInterrupt or MemoryError at the n-th line that a call runs."""

import sys

import sim_bridge

_HERE = sim_bridge.__path__[0]


class Interrupt:
    """
    A context that raises an error before the n-th line of the package that runs in it.

    lines: the lines that ran, each its file and number. place: where the error was raised, '' if
    it was not.
    """

    def __init__(self, line=-1, error=KeyboardInterrupt):
        """Interrupt at a line, from 0; -1: at none."""
        self.lines, self.place = [], ''
        self._line, self._error = line, error

    def __enter__(self):
        """Trace from now on."""
        self._before = sys.gettrace()
        sys.settrace(self._enter)
        return self

    def __exit__(self, *_):
        """Trace no longer."""
        sys.settrace(self._before)

    def places(self):
        """Return where the first and the last run of each line are among `lines`."""
        last = {line: at for at, line in enumerate(self.lines)}
        first = {line: at for at, line in reversed(list(enumerate(self.lines)))}
        return sorted({*first.values(), *last.values()})

    def _enter(self, frame, event, _):
        inside = event == 'call' and frame.f_code.co_filename.startswith(_HERE)
        return self._trace if inside else None

    def _trace(self, frame, event, _):
        if event == 'line':
            code = frame.f_code
            self.lines.append((code.co_filename, frame.f_lineno))
            if len(self.lines) > self._line >= 0:
                # once: handlers of the error run undisturbed
                sys.settrace(None)
                self.place = (
                    f'{code.co_filename[len(_HERE) + 1 :]}:{frame.f_lineno} {code.co_name}'
                )
                raise self._error
        return self._trace
