"""Live page inside a notebook."""

from __future__ import annotations

from html import escape
import json
import secrets

# A frame works only if page and notebook have the same host, since browsers send the page's cookie
# to no other host. Notebook servers on this machine are at localhost or 127.0.0.1, and the page
# answers at both; elsewhere only the link is shown.
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
    """Return HTML that shows a page on this machine; url: with its access token."""
    name = f'sim_bridge_{secrets.token_hex(4)}'
    # no < inside a script, since it could end the script
    quoted, address = (json.dumps(text).replace('<', '\\u003c') for text in (name, url))
    return _FRAME.format(name=name, quoted=quoted, address=address, link=escape(url))
