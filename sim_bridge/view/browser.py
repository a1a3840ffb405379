"""Opening a browser."""

from __future__ import annotations

from html import escape
import os
from pathlib import Path
import sys
import tempfile
import webbrowser


def open_browser(url: str) -> None:
    """
    Open a browser at an address with a secret; where there is none, print the address.

    The secret is in a file of the user's, not in the arguments of the browser, which everybody on
    the machine can read. The file stays until restart or clean-up of temporary files, since the
    browser reads it some time; the secret ends with the page.
    """
    descriptor, name = tempfile.mkstemp('.html', 'sim_bridge_')  # nobody else may read it
    with os.fdopen(descriptor, 'w') as file:
        file.write(f'<meta http-equiv="refresh" content="0; url={escape(url)}">')
    if not webbrowser.open(Path(name).as_uri()):
        os.unlink(name)
        print(f'sim_bridge: open {url}', file=sys.stderr)
