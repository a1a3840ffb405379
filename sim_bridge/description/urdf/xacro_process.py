"""
Expands one xacro document: the script of a process of its own, which imports nothing of ours.

It reads from standard input, and writes to standard output, one JSON object. A document is a
program: it may recurse, count to infinity or open a pipe that nobody writes to. Here it has
bounds, and whoever waits can end it.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from typing import Any


def main() -> None:
    """Answer the request that `xacro_file.expand` makes."""
    request = json.load(sys.stdin)
    # the same modules as in the parent process
    sys.path[:] = request['path']
    limit_memory(request['most_bytes'])
    printed = io.StringIO()
    answer: dict[str, str] = {}
    try:
        with contextlib.redirect_stderr(printed), contextlib.redirect_stdout(printed):
            answer['text'] = expanded(request)
    except Exception as err:  # noqa: BLE001  it evaluates the file's own expressions
        answer['error'] = f'{type(err).__name__}: {err}'
    json.dump({**answer, 'printed': printed.getvalue()}, sys.stdout)


def expanded(request: dict[str, Any]) -> str:
    """Return the document without xacro."""
    import xacro

    xacro.init_stacks(request['file'])
    document = xacro.parse(request['text'], request['file'])
    xacro.process_doc(document, mappings=request['mappings'])
    return str(document.toprettyxml(indent='  '))


def limit_memory(most_bytes: int) -> None:
    """Limit the memory of this process, where the system supports it."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (most_bytes, most_bytes))


if __name__ == '__main__':
    main()
