"""Users' inputs on the page reach the simulator once each, in their order, unchanged."""

from concurrent.futures import Future
import threading
import time

import numpy as np
from page_client import PageClient
import pytest

from sim_bridge.page.guard import Guard
from sim_bridge.page.layer import Context
from sim_bridge.page.server import LOOPBACK, open_server
from sim_bridge.page.tape_layer import TapeLayer
from sim_bridge.page.time_layer import TimeLayer
from sim_bridge.page.widgets import show_value

_PATIENCE_S = 30.0


@pytest.fixture
def page():
    """Yield a server, two layers, their requests, and a client."""
    guard = Guard()
    server = open_server('test', 0, guard)
    asked: list[tuple[str, dict]] = []
    tabs = server.gui.add_tab_group()
    context = Context(
        server,
        lambda name, /, **values: asked.append((name, values)),
        lambda notice: None,
        server.scene.add_frame('/world'),
        *(tabs.add_tab(name) for name in ('Run', 'Show', 'Joints', 'Plots')),
    )
    layers = TimeLayer(context), TapeLayer(context)
    url = f'http://{LOOPBACK}:{server.get_port()}/?token={guard.owner}'
    with PageClient(url) as client:
        yield server, layers, asked, client
    server.stop()


def wait(condition) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + _PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize(
    ('label', 'request_name', 'argument'),
    [('Speed', 'speed', 'factor'), ('Time [s]', 'seek', 'time')],
)
def test_each_value_is_requested_in_its_order(page, label, request_name, argument):
    """Request every value in a quick series, as sent."""
    _, _, asked, client = page
    values = np.linspace(0.01, 0.99, 99).round(2).tolist()
    client.wait_for(label)
    for value in values:
        client.set(label, value)
    wait(lambda: len(asked) >= len(values))
    assert asked == [(request_name, {argument: value}) for value in values]


def test_an_input_is_kept_beside_values_from_the_simulator(page):
    """Request the user's value although the simulator changes the widget at once."""
    server, (time_layer, _), asked, client = page
    widget = time_layer._speed
    released = threading.Event()
    client.wait_for('Speed')
    # a busy machine: threads for callbacks come late
    late: list[Future] = [
        server.gui._thread_executor.submit(released.wait)
        for _ in range(server.gui._thread_executor._max_workers)
    ]
    client.set('Speed', 2.0)
    wait(lambda: widget.value == 2.0)
    show_value(server, widget, 3.0)
    wait(lambda: widget.value == 3.0)
    released.set()
    for each in late:
        each.result(_PATIENCE_S)
    wait(lambda: asked)
    assert asked == [('speed', {'factor': 2.0})]


def test_clicks_are_requested_in_their_order(page):
    """Request saves and resets in click order."""
    _, _, asked, client = page
    client.wait_for('Save')
    names = [f'{number}' for number in range(40)]
    for name in names:
        client.set('Name', name)
        client.click('Save')
        client.press('Reset')
    wait(lambda: len(asked) >= 2 * len(names))
    assert asked == [each for name in names for each in (('save', {'name': name}), ('reset', {}))]
