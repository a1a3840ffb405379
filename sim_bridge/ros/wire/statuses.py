"""Words of /diagnostics that other programs go by."""

from __future__ import annotations

WAITING = 'waiting for the first command'
"""Of a robot's commands: none has come, on any topic."""
NO_LISTENER = 'no listener'
"""Of a topic in the status `topics`, which is not published on then."""
