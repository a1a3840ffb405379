"""Reports of errors in a page process: bounded, since anybody at the page can cause them."""

from __future__ import annotations

import asyncio
import logging
import sys
from typing import Any

_MOST = 3
# caused by requests without a token; there is nothing to mend here
_REFUSED = 'opening handshake failed'


class _FirstOnes(logging.StreamHandler):  # type: ignore[type-arg]  # generic in annotations only
    """Writes the first records to stderr, then one line about the later ones, then nothing."""

    def __init__(self) -> None:
        super().__init__(sys.stderr)
        self._count = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record, or not."""
        if record.getMessage() == _REFUSED:
            return
        self._count += 1
        if self._count <= _MOST:
            super().emit(record)
        if self._count == _MOST:
            self.stream.write('later errors of this page are not shown\n')
            self.flush()


def bounded_logger() -> logging.Logger:
    """Return a new logger that reports only its first errors."""
    logger = logging.Logger('sim_bridge.page', logging.WARNING)
    logger.addHandler(_FirstOnes())
    return logger


def report_to(logger: logging.Logger, loop: asyncio.AbstractEventLoop) -> None:
    """Report exceptions of an event loop's tasks to a logger; callable from any thread."""

    def handle(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        logger.error(context['message'], exc_info=context.get('exception'))

    loop.call_soon_threadsafe(loop.set_exception_handler, handle)
