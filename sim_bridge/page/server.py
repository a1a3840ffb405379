"""Page server: viser, on loopback, behind a guard."""

from __future__ import annotations

from contextlib import redirect_stdout
import io
import socket

import viser
import viser._messages as messages
import websockets.asyncio.server

from sim_bridge.page.failures import report_to
from sim_bridge.page.guard import Guard

LOOPBACK = '127.0.0.1'


def open_server(title: str, port: int, guard: Guard) -> viser.ViserServer:
    """
    Open a page's server at a loopback port; 0 for a free one.

    Raises OSError if the port is taken, RuntimeError if viser does not use the guard.
    """
    if port:
        # viser would silently use the next port
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((LOOPBACK, port))
    before = websockets.asyncio.server.serve
    websockets.asyncio.server.serve = guard.serve  # type: ignore[misc, assignment]
    try:
        with redirect_stdout(io.StringIO()):
            server = viser.ViserServer(LOOPBACK, port, title, verbose=False)
    finally:
        websockets.asyncio.server.serve = before  # type: ignore[misc]
    if not guard.is_used:
        server.stop()
        raise RuntimeError(f'viser {viser.__version__} does not start its server as expected')
    report_to(guard.logger, server.get_event_loop())
    # without these handlers nobody at the page can open a tunnel to it from the internet
    for kind in (messages.ShareUrlRequest, messages.ShareUrlDisconnect):
        server._websock_server.unregister_handler(kind)
    server.gui.configure_theme(show_logo=False, show_share_button=False)
    server.gui.main_panel.dock_right()
    return server
