"""The live page within a notebook."""

from __future__ import annotations

from html import escape
import json
import secrets

# A page is shown within another one only if both have the same host, as browsers send its cookie
# nowhere else. Notebooks of a server on this machine are at localhost or at 127.0.0.1, and the
# page answers to both; in any other place the link is left.
_FRAME = """\
<div>
<iframe id="{name}" sandbox="allow-scripts allow-same-origin allow-downloads"
 referrerpolicy="no-referrer"
 style="display:none;width:100%;height:480px;border:0"></iframe>
<a href="{link}" target="_blank" rel="noopener noreferrer">Open the page of the world in a tab</a>
<script>
(() => {{
  const host = location.hostname, frame = document.getElementById({quoted});
  if (host === 'localhost' || host === '127.0.0.1') {{
    const address = new URL({address});
    address.hostname = host;
    frame.src = address.href;
    frame.style.display = 'block';
  }}
}})();
</script>
</div>"""


def framed(url: str) -> str:
    """Return HTML that shows a page of this machine; url: with the token that opens it."""
    name = f'sim_bridge_{secrets.token_hex(4)}'
    # within a script no < may stand, or it could end it
    quoted, address = (json.dumps(text).replace('<', '\\u003c') for text in (name, url))
    return _FRAME.format(name=name, quoted=quoted, address=address, link=escape(url))
