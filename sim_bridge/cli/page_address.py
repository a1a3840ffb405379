"""The address of a live page in the output of the simulator."""

from __future__ import annotations

import os
import sys
import webbrowser

from sim_bridge.cli.console import Console
from sim_bridge.ros.page.address import address_in


class PageAddress:
    """
    Passes lines on, and finds the address of the live page in them.

    url: the address; '' as long as there is none.
    """

    def __init__(self, console: Console, opens_browser: bool):
        """Write lines to a console; opens_browser: whether to open the page in a browser."""
        self._console, self.url = console, ''
        self._opens_browser = opens_browser and console.is_terminal and has_display()

    def line(self, text: str) -> None:
        """Write a line of a process."""
        self._console.line(text)
        found = address_in(text)
        if found and not self.url:
            self.url = found
            if self._opens_browser:
                webbrowser.open(found)


def has_display() -> bool:
    """Return whether there is a screen for a browser, rather than a text browser alone."""
    return sys.platform == 'darwin' or any(
        os.environ.get(name) for name in ('DISPLAY', 'WAYLAND_DISPLAY')
    )
