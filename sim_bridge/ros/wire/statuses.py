"""/diagnostics status texts recognized by other programs."""

from __future__ import annotations

WAITING = 'waiting for the first command'
"""Commands of a robot: none received yet on any topic."""
NO_LISTENER = 'no listener'
"""Topics without subscribers, in the entry `topics`; they are not published then."""
