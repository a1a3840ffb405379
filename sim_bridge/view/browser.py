"""Web browser start."""

from __future__ import annotations

from html import escape
import os
from pathlib import Path
import sys
import tempfile
import webbrowser


def open_browser(url: str) -> None:
    """
    Open a browser at an address with a secret; without a browser, print the address.

    The secret is in a private file instead of the browser's arguments, which all users on the
    machine can read. The file stays until a restart or a temporary file clean-up, since the
    browser reads it at an unknown time; the secret expires with the page.
    """
    descriptor, name = tempfile.mkstemp('.html', 'sim_bridge_')  # mkstemp makes it private
    with os.fdopen(descriptor, 'w') as file:
        file.write(f'<meta http-equiv="refresh" content="0; url={escape(url)}">')
    if not webbrowser.open(Path(name).as_uri()):
        os.unlink(name)
        print(f'sim_bridge: open {url}', file=sys.stderr)
