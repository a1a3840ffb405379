"""
Access control: every request to the page's server passes here.

A page in a browser can reach any server on its machine, so loopback alone protects nothing:
- the Host header must be the server's own: no foreign name can point at it (DNS rebinding);
- a random token in the address becomes a cookie, which scripts cannot read;
- a WebSocket needs this cookie, and the server's own Origin header;
- silent connections end after a time; if there are too many of them, the oldest ends;
- visitors and owners each have a number of sockets, so that no visitor keeps the owner out.
Visitors have a separate token: all their messages except camera positions are dropped. Invalid
messages are dropped, too.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
import hmac
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
import secrets
from typing import Any
from urllib.parse import parse_qs

import websockets.asyncio.server
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from sim_bridge.page.failures import bounded_logger
from sim_bridge.page.incoming import is_accepted

_Handler = Callable[[Any], Awaitable[None]]
_Process = Callable[[websockets.asyncio.server.ServerConnection, Request], Response | None]
# the original function, before `open_server` replaces it with a guard's
_serve = websockets.asyncio.server.serve

OWNER, VISITOR = 'owner', 'visitor'
_NAMES = ('127.0.0.1', 'localhost')
_TOKEN_BYTES = 24
_MOST_LENGTH = 16 * 1024 * 1024  # bytes; pictures rendered by the browser are large
_MOST_WAITING = 64  # connections before their request; a browser opens about ten
MOST_SOCKETS = {OWNER: 32, VISITOR: 32}
_TOO_MANY = 1013  # WebSocket code: try again later
_PATIENCE = 5.0  # time limit for a request's head [s]
# the page loads nothing from elsewhere; only notebooks on this machine may embed it in a frame
_POLICY = (
    "default-src 'self' 'unsafe-inline' 'unsafe-eval' 'wasm-unsafe-eval' blob: data:; "
    "connect-src 'self' blob: data:; "
    "frame-ancestors 'self' http://localhost:* http://127.0.0.1:*"
)
_REFUSED = 'This page needs the whole address that the simulator gave: it ends with ?token=…\n'
# redirects by script, since browsers send no strict cookie with a navigation from another site
_ENTRANCE = '<!doctype html><title>sim_bridge</title><script>location.replace("/")</script>'


class Guard:
    """
    Checks requests and messages for one server.

    owner, visitor: tokens. is_used: whether the server was started through this guard. logger:
    for errors of the server.
    """

    def __init__(self, patience: float = _PATIENCE, most: int = _MOST_WAITING) -> None:
        """
        Create two tokens.

        patience: time limit for a request's head [s]. most: connections without a request at once.
        """
        self.owner, self.visitor = (secrets.token_urlsafe(_TOKEN_BYTES) for _ in range(2))
        self.is_used = False
        self.logger = bounded_logger()
        self._patience, self._most = patience, most
        # connections without a socket, oldest first, and sockets by role
        self._waiting: dict[object, Any] = {}
        self._sockets: dict[str, set[object]] = {role: set() for role in MOST_SOCKETS}

    def serve(
        self, handler: _Handler, *args: Any, process_request: _Process, **options: Any
    ) -> Any:
        """Serve like `websockets.asyncio.server.serve`, behind this guard."""
        self.is_used = True

        async def guarded(connection: websockets.asyncio.server.ServerConnection) -> None:
            role = self._role(connection.request, connection.local_address[1])
            self._waiting.pop(connection, None)
            present = self._sockets[role]
            if len(present) >= MOST_SOCKETS[role]:
                await connection.close(_TOO_MANY, f'too many pages of {role}s are open')
                return
            present.add(connection)
            await handler(_Checked(connection, from_visitor=role == VISITOR))

        def process(
            connection: websockets.asyncio.server.ServerConnection, request: Request
        ) -> Response | None:
            refusal = self._refusal(request, connection.local_address[1])
            if refusal is not None:
                return refusal
            try:
                response = process_request(connection, request)
            except OSError:  # no name of a file, as one with thousands of characters
                response = _response(HTTPStatus.NOT_FOUND, 'There is no such file.\n')
            # without a response the request becomes a WebSocket, with any headers
            if response is None and 'Origin' not in request.headers:
                return _response(HTTPStatus.FORBIDDEN, _REFUSED)
            return _with_policy(response)

        return _serve(
            guarded,
            *args,
            **options
            | {
                'process_request': process,
                'max_size': _MOST_LENGTH,
                'open_timeout': self._patience,
                'create_connection': self._connection_class(),
                'logger': self.logger,
            },
        )

    def _connection_class(self) -> type[websockets.asyncio.server.ServerConnection]:
        """Return a connection class; the oldest waiting connection beyond the limit is aborted."""
        waiting, most, sockets = self._waiting, self._most, self._sockets

        class Counted(websockets.asyncio.server.ServerConnection):
            def connection_made(self, transport: Any) -> None:
                super().connection_made(transport)
                waiting[self] = transport
                if len(waiting) > most:
                    waiting.pop(next(iter(waiting))).abort()

            def connection_lost(self, exc: Exception | None) -> None:
                waiting.pop(self, None)
                for present in sockets.values():
                    present.discard(self)
                super().connection_lost(exc)

        return Counted

    def _refusal(self, request: Request, port: int) -> Response | None:
        """Return the refusal to answer, None if the request is allowed."""
        headers = request.headers
        host = headers.get_all('Host')
        if host not in [[f'{name}:{port}'] for name in _NAMES]:
            return _response(HTTPStatus.FORBIDDEN, 'This server has another name.\n')
        if headers.get_all('Origin') not in ([], [f'http://{host[0]}']):
            return _response(HTTPStatus.FORBIDDEN, _REFUSED)
        if len(headers.get_all('Upgrade')) > 1 or len(headers.get_all('Accept-Encoding')) > 1:
            return _response(HTTPStatus.BAD_REQUEST, 'This request has a header twice.\n')
        token = parse_qs(request.path.partition('?')[2]).get('token', [''])[0]
        if not self._role_of(token) if token else not self._role(request, port):
            return _response(HTTPStatus.FORBIDDEN, _REFUSED)
        if token:
            return _response(
                HTTPStatus.OK,
                _ENTRANCE,
                Headers(
                    {'Set-Cookie': f'{_cookie(port)}={token}; Path=/; HttpOnly; SameSite=Strict'}
                ),
                'text/html',
            )
        return None

    def _role(self, request: Request | None, port: int) -> str:
        """Return OWNER, VISITOR, or '' without a valid cookie."""
        cookies = SimpleCookie()
        for each in () if request is None else request.headers.get_all('Cookie'):
            with suppress(CookieError):  # an invalid cookie counts as none
                cookies.load(each)
        given = cookies.get(_cookie(port))
        return '' if given is None else self._role_of(given.value)

    def _role_of(self, token: str) -> str:
        given = token.encode()
        for role, own in ((OWNER, self.owner), (VISITOR, self.visitor)):
            if hmac.compare_digest(given, own.encode()):
                return role
        return ''


class _Checked:
    """Connection that passes accepted messages only."""

    def __init__(
        self, connection: websockets.asyncio.server.ServerConnection, *, from_visitor: bool
    ):
        self._connection, self._from_visitor = connection, from_visitor

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    async def recv(self) -> Any:
        while True:
            message = await self._connection.recv(decode=False)
            if is_accepted(message, from_visitor=self._from_visitor):
                return message


def _cookie(port: int) -> str:
    # all ports on a host share cookies
    return f'sim_bridge_{port}'


def _with_policy(response: Response | None) -> Response | None:
    if response is not None:
        response.headers['Content-Security-Policy'] = _POLICY
        response.headers['Referrer-Policy'] = 'no-referrer'
        response.headers['X-Content-Type-Options'] = 'nosniff'
        response.headers['Cache-Control'] = 'no-store'
    return response


def _response(
    status: HTTPStatus, text: str, headers: Headers | None = None, kind: str = 'text/plain'
) -> Response | None:
    body = text.encode()
    own = Headers() if headers is None else headers
    own['Content-Type'], own['Content-Length'] = f'{kind}; charset=utf-8', str(len(body))
    return _with_policy(Response(status, status.phrase, own, body))
