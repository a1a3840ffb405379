"""Interrupts: a KeyboardInterrupt or MemoryError at the n-th line run by a call."""

import sys

import sim_bridge

_HERE = sim_bridge.__path__[0]


class Interrupt:
    """
    A context that raises an error before the n-th package line that runs in it.

    lines: the lines that ran, as file and number. place: place of the raised error, '' without
    one.
    """

    def __init__(self, line=-1, error=KeyboardInterrupt):
        """Interrupt at a line, from 0; -1: at none."""
        self.lines, self.place = [], ''
        self._line, self._error = line, error

    def __enter__(self):
        """Start tracing."""
        self._before = sys.gettrace()
        sys.settrace(self._enter)
        return self

    def __exit__(self, *_):
        """Stop tracing."""
        sys.settrace(self._before)

    def places(self):
        """Return the indices in `lines` of each line's first and last run."""
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
                # once: error handlers run undisturbed
                sys.settrace(None)
                self.place = (
                    f'{code.co_filename[len(_HERE) + 1 :]}:{frame.f_lineno} {code.co_name}'
                )
                raise self._error
        return self._trace
