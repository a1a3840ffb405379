"""Address of the live page, found in the simulator's output."""

from __future__ import annotations

import os
import sys
import webbrowser

from sim_bridge.cli.console import Console
from sim_bridge.ros.page.address import address_in


class PageAddress:
    """
    Passes lines on, and finds the live page's address in them.

    url: the address; '' until it is found.
    """

    def __init__(self, console: Console, opens_browser: bool):
        """Write lines to a console; opens_browser: whether to open the page in a browser."""
        self._console, self.url = console, ''
        self._opens_browser = opens_browser and console.is_terminal and has_display()

    def line(self, text: str) -> None:
        """Write a line from a process."""
        self._console.line(text)
        found = address_in(text)
        if found and not self.url:
            self.url = found
            if self._opens_browser:
                webbrowser.open(found)


def has_display() -> bool:
    """Return whether there is a display; without one, only a text browser could open."""
    return sys.platform == 'darwin' or any(
        os.environ.get(name) for name in ('DISPLAY', 'WAYLAND_DISPLAY')
    )
