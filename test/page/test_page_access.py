"""Page server: on loopback, for owners of its token, and for its own pages only."""

from contextlib import ExitStack, suppress
from http.client import HTTPConnection
import math
import socket
import time

import msgspec.msgpack
import pytest
import viser
from viser import _messages as messages
from websockets.exceptions import ConnectionClosedError, InvalidStatus
from websockets.sync.client import connect

from sim_bridge.page.guard import Guard, MOST_SOCKETS, VISITOR
from sim_bridge.page.server import open_server


@pytest.fixture(scope='module')
def guard():
    return Guard()


@pytest.fixture(scope='module')
def server(guard):
    opened = open_server('test', 0, guard)
    yield opened
    opened.stop()


@pytest.fixture
def get(server):
    """Return a function from a path to its status, headers and content."""

    def ask(path: str, **headers: str):
        connection = HTTPConnection('127.0.0.1', server.get_port(), timeout=10)
        connection.request(
            'GET', path, headers={name.replace('_', '-'): value for name, value in headers.items()}
        )
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, answer.headers, content

    return ask


def cookie_of(get, token: str) -> str:
    status, headers, _ = get(f'/?token={token}')
    assert status == 200
    cookie = headers['Set-Cookie']
    assert 'HttpOnly' in cookie
    assert 'SameSite=Strict' in cookie
    return cookie.partition(';')[0]


def open_socket(server, cookie: str = '', origin: str | None = 'own', host: str | None = None):
    port = server.get_port()
    headers = {'Cookie': cookie} if cookie else {}
    if host is not None:
        headers['Host'] = host
    return connect(
        f'ws://127.0.0.1:{port}',
        additional_headers=headers,
        compression=None,
        origin=f'http://127.0.0.1:{port}' if origin == 'own' else origin,
        subprotocols=[f'viser-v{viser.__version__}'],
        max_size=None,
        open_timeout=10,
    )


def test_the_page_is_on_loopback_alone(server):
    """Reject connections at all other addresses of the machine."""
    # another address of this machine, as in a network
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(('127.0.0.2', server.get_port()), 10.0)


def test_without_the_token_there_is_nothing(get):
    """Return nothing without the token, or with a wrong one."""
    for path in ('/', '/index.html', '/?token=', '/?token=wrong', '/?token=%C3%BC'):
        assert get(path)[0] == 403


def test_the_token_opens_the_page_and_leaves_the_address(get, guard):
    """Accept the token once, set a cookie hidden from scripts, and redirect to a bare address."""
    cookie = cookie_of(get, guard.owner)
    status, headers, content = get('/', Cookie=cookie)
    assert status == 200
    assert b'<html' in content
    assert headers['Referrer-Policy'] == 'no-referrer'
    assert "default-src 'self'" in headers['Content-Security-Policy']


def test_a_foreign_name_of_the_server_is_refused(get, guard):
    """Reject other hosts, as in DNS rebinding."""
    assert get('/', Host='evil.example', Cookie=cookie_of(get, guard.owner))[0] == 403


def test_a_foreign_name_of_the_server_cannot_connect(server, get, guard):
    """Reject an attacker's name for loopback, although it is the browser's origin."""
    host = f'evil.example:{server.get_port()}'
    with pytest.raises(InvalidStatus) as refused:
        open_socket(server, cookie_of(get, guard.owner), f'http://{host}', host)
    assert refused.value.response.status_code == 403


def ask(server, head: str) -> bytes:
    """Send the head of a request unchanged; return the whole answer."""
    with socket.create_connection(('127.0.0.1', server.get_port()), 10.0) as own:
        own.sendall(head.replace('PORT', str(server.get_port())).encode('latin-1'))
        return b''.join(iter(lambda: own.recv(1 << 16), b''))


@pytest.mark.parametrize(
    'path',
    [
        '/../../../../../../etc/passwd',
        '/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd',
        '//etc/passwd',
        '/..\\..\\..\\..\\..\\etc/passwd',
        '/assets',
        '/%00',
    ],
)
def test_only_the_files_of_the_page_are_served(server, get, guard, path):
    """Serve no file outside the page's folder."""
    cookie = cookie_of(get, guard.owner)
    answer = ask(
        server, f'GET {path} HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nCookie: {cookie}\r\n\r\n'
    )
    assert answer.startswith(b'HTTP/1.1 404')
    assert b'root:' not in answer


@pytest.mark.parametrize(
    'head',
    [
        'Host: 127.0.0.1:PORT\r\nHost: evil.example\r\nCookie: COOKIE',
        'Host: evil.example\r\nHost: 127.0.0.1:PORT\r\nCookie: COOKIE',
        'Host: 127.0.0.1:PORT\r\nCookie: COOKIE\r\nUpgrade: h2c\r\nUpgrade: websocket',
        'Host: 127.0.0.1:PORT\r\nCookie: COOKIE\r\nOrigin: http://evil.example',
        'Host: 127.0.0.1:PORT\r\nCookie: COOKIE\r\nUpgrade: websocket',
        'Host: 127.0.0.1:PORT\r\nCookie: "\\\r\nCookie: sim_bridge_PORT=\xff; [=]',
        'Cookie: COOKIE',
    ],
)
def test_odd_requests_are_refused(server, get, guard, head):
    """Reject doubled headers and foreign origins."""
    head = head.replace('COOKIE', cookie_of(get, guard.owner))
    assert ask(server, f'GET / HTTP/1.1\r\n{head}\r\n\r\n').startswith(b'HTTP/1.1 40')


def test_a_path_that_is_none_is_no_error(server, get, guard):
    """Answer paths impossible for files."""
    cookie = cookie_of(get, guard.owner)
    for path in ('//[', '/' + 'a' * 7000, '/' + 'a/' * 3000, '/%ff%fe', '/a%00b'):
        assert get(path, Cookie=cookie)[0] == 404


def test_a_message_of_any_length_is_not_read(server, get, guard):
    """Close a socket whose message exceeds the page's limit."""
    cookie = cookie_of(get, guard.owner)
    with open_socket(server, cookie) as own:
        own.send(bytes(17 * 1024 * 1024))
        with pytest.raises(ConnectionClosedError) as ended:
            all(iter(lambda: own.recv(timeout=10), None))
    assert ended.value.rcvd.code == 1009
    assert get('/', Cookie=cookie)[0] == 200


def test_malformed_messages_are_dropped(server, get, guard):
    """Drop malformed messages, and continue."""
    slider = server.gui.add_slider('y', 0, 10, 1, 0)
    update = {'type': 'GuiUpdateMessage', 'uuid': slider._impl.uuid, 'updates': {'value': 7}}
    with (
        open_socket(server, cookie_of(get, guard.visitor)) as visitor,
        open_socket(server, cookie_of(get, guard.owner)) as owner,
    ):
        for message in (
            b'',
            b'\xc1',
            msgspec.msgpack.encode([update]),
            b'\x91' * 100_000,
            msgspec.msgpack.encode({'type': ['ViewerCameraMessage']}),
        ):
            visitor.send(message)
        owner.send(msgspec.msgpack.encode({'type': 'ShareUrlRequest'}))
        owner.send(msgspec.msgpack.encode(update))
        end = time.monotonic() + 10.0
        while slider.value != 7 and time.monotonic() < end:
            time.sleep(0.01)
        assert slider.value == 7
        assert visitor.ping().wait(10.0)


def test_connections_that_say_nothing_end():
    """Close connections without a request in time."""
    server = open_server('test', 0, Guard(patience=0.1))
    with socket.create_connection(('127.0.0.1', server.get_port()), 10.0) as own:
        own.sendall(b'GET / HTTP/1.1\r\nHost:')
        assert own.recv(1) == b''
    server.stop()


def test_silent_connections_keep_nobody_out(get):
    """End the oldest connection without a request; answer the latest one."""
    guard = Guard(most=3)
    server = open_server('test', 0, guard)
    with ExitStack() as present:

        def connection():
            own = socket.create_connection(('127.0.0.1', server.get_port()), 10.0)
            return present.enter_context(own)

        silent = [connection() for _ in range(3)]
        # a socket does not count among them
        cookie = f'sim_bridge_{server.get_port()}={guard.owner}'
        present.enter_context(open_socket(server, cookie))
        assert silent[0].recv(1) == b''
        silent.append(connection())
        latest = connection()
        assert silent[1].recv(1) == b''
        latest.sendall(b'GET / HTTP/1.1\r\n\r\n')
        assert latest.recv(1 << 16).startswith(b'HTTP/1.1 403')
    server.stop()


def test_visitors_keep_no_owner_out(monkeypatch):
    """Refuse visitors beyond their number, and still accept owners."""
    monkeypatch.setitem(MOST_SOCKETS, VISITOR, 2)
    guard = Guard()
    server = open_server('test', 0, guard)
    name = f'sim_bridge_{server.get_port()}'
    with ExitStack() as present:
        for _ in range(2):
            own = present.enter_context(open_socket(server, f'{name}={guard.visitor}'))
            assert own.recv(timeout=10)
        third = present.enter_context(open_socket(server, f'{name}={guard.visitor}'))
        with pytest.raises(ConnectionClosedError, match='too many pages of visitors are open'):
            third.recv(timeout=10)
        owner = present.enter_context(open_socket(server, f'{name}={guard.owner}'))
        assert owner.recv(timeout=10)
    server.stop()


CAMERA = {
    'type': 'ViewerCameraMessage',
    'wxyz': (1.0, 0.0, 0.0, 0.0),
    'position': (3.0, 3.0, 3.0),
    'fov': 1.0,
    'near': 0.01,
    'far': 100.0,
    'image_height': 600,
    'image_width': 800,
    'look_at': (0.0, 0.0, 0.0),
    'up_direction': (0.0, 0.0, 1.0),
}
VALUES = (
    *(None, 'x', b'x', [], {}, True, (1.0,), (1.0,) * 5, ('x',) * 3, math.nan, math.inf, 1e300),
    *((math.nan,) * 3, (math.inf,) * 4, 2**62, -(2**62), [[1.0] * 3] * 3),
)


def hostile_cameras():
    """Return camera messages with each field missing or invalid, and with foreign fields."""
    fields = [name for name in CAMERA if name != 'type']
    return [
        *({**CAMERA, name: value} for name in fields for value in VALUES),
        *({key: value for key, value in CAMERA.items() if key != name} for name in fields),
        *({**CAMERA, name: 0} for name in ('extra', 'owner', 'virtual', 'self')),
    ]


@pytest.mark.parametrize('role', ['visitor', 'owner'])
def test_invalid_cameras_are_dropped_without_a_report(role, capfd):
    """Keep the connection and the owner's terminal as they were."""
    guard = Guard()
    server = open_server('test', 0, guard)
    cookie = f'sim_bridge_{server.get_port()}={getattr(guard, role)}'
    with open_socket(server, cookie) as own:
        for message in hostile_cameras():
            own.send(msgspec.msgpack.encode(message))
        own.send(msgspec.msgpack.encode({'type': 'GetRenderResponseMessage', 'payload': 'x'}))
        for kind in ('NoSuchMessage', 'GuiUpdateMessage', 'SceneNodeDragMessage'):
            own.send(msgspec.msgpack.encode({'type': kind, 'uuid': 5, 'name': '/'}))
        own.send('text')
        own.send(msgspec.msgpack.encode({**CAMERA, 'position': (7.0, 0.0, 0.0)}))
        end = time.monotonic() + 10.0
        while not server.get_clients() and time.monotonic() < end:
            time.sleep(0.01)
        (client,) = server.get_clients().values()
        assert client.camera.position[0] == 7.0
        assert own.ping().wait(10.0)
    server.stop()
    assert capfd.readouterr().err == ''


def test_errors_of_a_page_are_reported_a_few_times(capfd):
    """Report the first errors with their tracebacks, and say that later ones are not shown."""
    guard = Guard()
    server = open_server('test', 0, guard)
    slider = server.gui.add_slider('y', 0, 10, 1, 0)

    @slider.on_update
    async def fail(event):
        raise RuntimeError(f'at {event.target.value}')

    cookie = f'sim_bridge_{server.get_port()}={guard.owner}'
    with open_socket(server, cookie) as own:
        own.send(msgspec.msgpack.encode(CAMERA))
        for value in range(1, 9):
            updates = {'value': value}
            own.send(
                msgspec.msgpack.encode(
                    {'type': 'GuiUpdateMessage', 'uuid': slider._impl.uuid, 'updates': updates}
                )
            )
        end = time.monotonic() + 10.0
        while slider.value != 8 and time.monotonic() < end:
            time.sleep(0.01)
        assert own.ping().wait(10.0)
        # also requests without a token, which are not reported
        for head in ('GET', 'GET / HTTP/1.1\r\nHost: x\r\n\r\n', '\0\r\n\r\n'):
            with suppress(ConnectionError):
                ask(server, head + '\r\n\r\n')
    server.stop()
    said = capfd.readouterr().err
    assert said.count('Traceback') == said.count('RuntimeError: at') == 3
    assert said.endswith('later errors of this page are not shown\n')


@pytest.mark.parametrize(
    'origin', [None, 'http://evil.example', 'http://127.0.0.1', 'null', 'http://127.0.0.1:1']
)
def test_no_other_page_can_connect(server, get, guard, origin):
    """Reject sockets from pages of other origins."""
    cookie = cookie_of(get, guard.owner)
    with pytest.raises(InvalidStatus) as refused:
        open_socket(server, cookie, origin)
    assert refused.value.response.status_code == 403


def test_a_socket_needs_the_cookie(server):
    """Reject a socket without the cookie."""
    for cookie in ('', f'sim_bridge_{server.get_port()}=wrong', 'other=1'):
        with pytest.raises(InvalidStatus):
            open_socket(server, cookie)


def test_the_page_itself_connects(server, get, guard):
    """Accept the socket opened by the page."""
    with open_socket(server, cookie_of(get, guard.owner)) as own:
        assert own.recv(timeout=10)


def test_owners_change_widgets_and_visitors_do_not(server, get, guard):
    """Accept owners' messages, and drop visitors' messages."""
    sliders = {
        token: server.gui.add_slider('x', 0, 10, 1, 0) for token in (guard.visitor, guard.owner)
    }
    with ExitStack() as sockets:
        # the visitor first: the owner's effect then proves the visitor's absence
        for token, slider in sliders.items():
            own = sockets.enter_context(open_socket(server, cookie_of(get, token)))
            own.recv(timeout=10)
            own.send(
                msgspec.msgpack.encode(
                    {
                        'type': 'GuiUpdateMessage',
                        'uuid': slider._impl.uuid,
                        'updates': {'value': 7},
                    }
                )
            )
        end = time.monotonic() + 10.0
        while sliders[guard.owner].value != 7 and time.monotonic() < end:
            time.sleep(0.01)
    assert [slider.value for slider in sliders.values()] == [0, 7]


def test_nobody_can_open_a_tunnel(server):
    """Drop requests for a public tunnel from all clients."""
    handlers = server._websock_server._incoming_handlers
    assert messages.ShareUrlRequest not in handlers
    assert messages.ShareUrlDisconnect not in handlers


def test_a_port_that_is_taken_is_said(server):
    """Name the occupied port."""
    with pytest.raises(OSError, match='in use'):
        open_server('test', server.get_port(), Guard())
