"""`World.view`: page of a world stepped by a program."""

from contextlib import suppress
import gc
import os
from pathlib import Path
from queue import SimpleQueue
import signal
import socket
import stat
import subprocess
import sys
import threading
from urllib.parse import urlsplit
from urllib.request import url2pathname
import webbrowser

from interrupts import Interrupt
import numpy as np
import pytest
from support.page_client import PageClient

import sim_bridge as sb
from sim_bridge.foundation.errors import MissingPackageError, StateError
from sim_bridge.page.records import Request
from sim_bridge.view.control import ScriptControl

ROBOTS = Path(__file__).resolve().parents[2] / 'urdf'
STEP = 1e-3
SIZE = (0.2, 0.25, 0.22)


@pytest.fixture(scope='module')
def running():
    """Yield a world that steps on a thread while it is viewed, its viewer, and a client."""
    world = sb.World(STEP)
    world.add_ground()
    world.add_body(sb.Box(SIZE), name='box', position=(0.5, 0.0, SIZE[2] / 2))
    world.load_urdf(ROBOTS / 'arm.urdf', position=(2.0, 0.0, 0.0), base='fixed')
    world.step()
    world.reset()
    is_done, calls = threading.Event(), SimpleQueue()
    viewer = world.view(browser=False)

    def run() -> None:
        while not is_done.is_set():
            while not calls.empty():
                calls.get()()
            # the error is shown on the page
            with suppress(ZeroDivisionError):
                world.step()

    thread = threading.Thread(target=run)
    thread.start()
    with PageClient(viewer.url) as client:
        yield world, viewer, client, calls.put
    is_done.set()
    viewer.close()
    thread.join()


def says(client: PageClient) -> float:
    """Return the time on the page [s]."""
    return next(float(text.split()[1]) for text in client.texts if text.startswith('### '))


@pytest.fixture
def between_steps(running):
    """Return a function for calls between steps, as programs change worlds."""
    return running[3]


@pytest.fixture
def page(running):
    """Return world, viewer and client; it plays afterwards."""
    world, viewer, client, _ = running
    client.wait_for('Pause')
    yield world, viewer, client
    client.play()


def test_the_page_shows_bodies_where_they_are(page):
    """Place bodies like the world."""
    _, _, client = page
    client.wait(
        'the box in its place',
        lambda: client.box(SIZE)[2] == pytest.approx((0.5, 0.0, SIZE[2] / 2), abs=1e-3),
    )


def test_a_paused_world_stays_and_a_step_is_one(page):
    """Hold the clock while paused, and advance it by the requested steps."""
    world, _, client = page
    client.pause()
    before = world.step_count
    client.set('Steps at once', 3)
    client.click('Step')
    client.wait('three steps', lambda: world.step_count == before + 3)
    client.press('Step')
    client.wait('three more', lambda: world.step_count == before + 6)
    client.wait('the time on the page', lambda: abs(says(client) - world.time) < STEP / 2)
    assert world.step_count == before + 6


def test_reset_starts_again(page):
    """Set state and time back to the beginning."""
    world, _, client = page
    client.pause()
    assert world.time > 0.0
    client.press('Reset')
    client.wait('a reset', lambda: world.time == 0.0 and says(client) == 0.0)


def test_snapshots_are_kept_by_name(page):
    """Save, restore and delete snapshots; report a failed restore."""
    world, _, client = page
    client.pause()
    client.set('Name', 'here')
    client.click('Save')
    before = world.step_count
    client.set('Steps at once', 5)
    client.click('Step')
    client.wait('steps', lambda: world.step_count == before + 5)
    kept = client.widgets['Kept']
    client.wait('its name', lambda: kept['options'] == ['here'] and kept['value'] == 'here')
    client.click('Restore')
    client.wait('the snapshot', lambda: world.step_count == before)
    client.click('Delete')
    client.wait('no name', lambda: kept['options'] == ['—'])
    client.click('Restore')
    client.click('Step')
    client.wait('steps', lambda: world.step_count == before + 5)


def test_sliders_command_joints(page):
    """Command the effort of a slider."""
    _, _, client = page
    client.set('Command', 'position')
    client.wait('sliders for commands', lambda: not client.widgets['joint_2']['disabled'])
    client.set('joint_2', 0.3)
    client.set('Command', 'measured')
    client.wait(
        'the motion',
        lambda: (
            client.widgets['joint_2']['disabled']
            and abs(client.widgets['joint_2']['value'] - 0.3) < 1e-2
        ),
    )


def test_bodies_are_pulled(page):
    """Lift a body by a spring, until the button is released."""
    _, _, client = page
    name, number, place = client.wait('the box', lambda: client.box(SIZE))
    grabbed = place + (0.05, 0.0, 0.1)
    client.drag(name, number, 'start', grabbed, grabbed)
    client.drag(name, number, 'update', grabbed, grabbed + (0.0, 0.0, 1.0))
    client.wait('the box in the air', lambda: client.box(SIZE)[2][2] > 0.6)
    client.wait('the arrow of the push', lambda: client.nodes['/world/pushes']['points'].size == 6)
    client.drag(name, number, 'end', grabbed, grabbed)
    client.wait('the box on the ground', lambda: client.box(SIZE)[2][2] < 0.2)


def test_bodies_are_pushed_for_a_while(page):
    """Accelerate a body by a force for some steps."""
    world, _, client = page
    client.press('Reset')
    client.pause()
    link = world.robots['box'].links[0]
    client.wait('the link', lambda: 'box/box' in client.widgets['Link']['options'])
    client.set('Link', 'box/box')
    client.set('Force [N]', (0.0, 0.0, 1000.0))
    client.set('For seconds', 0.01)
    client.click('Push')
    before = world.step_count
    client.set('Steps at once', 20)
    client.press('Step')
    client.wait('steps', lambda: world.step_count == before + 20)
    speed = 0.01 * 1000.0 / link.m - 0.02 * 9.81
    assert link.v[2] == pytest.approx(speed, rel=1e-6)


@pytest.mark.parametrize(
    'request_of',
    [
        lambda world: [Request('reset', {})],
        lambda world: [Request('save', {'name': 'a'}), Request('restore', {'name': 'a'})],
    ],
)
def test_pushes_end_at_resets_and_snapshots(request_of):
    """End pushes at a state jump; reject pushes on immovable links."""
    world = sb.World(STEP)
    box = world.add_body(sb.Box(SIZE), name='box')
    world.add_body(sb.Box(SIZE), name='wall', motion='static', position=(3.0, 0.0, 0.0))
    control = ScriptControl(world, 1.0, False)
    push = {'robot': 'box', 'link': 'box', 'force': [0.0, 0.0, 500.0], 'seconds': 1.0}
    control.obey(Request('push', push))
    for each in request_of(world):
        control.obey(each)
    control.push()
    world.step()
    assert box.root_link.v[2] == pytest.approx(-9.81 * STEP)
    for wrong in ({'robot': 'wall', 'link': 'wall'}, {'seconds': -1.0}, {'force': [1.0]}):
        with pytest.raises(sb.SimBridgeError):
            control.obey(Request('push', push | wrong))


def test_contacts_are_points_and_arrows(page):
    """Draw a box's contacts at its corners, with forces equal to its weight."""
    world, _, client = page
    client.press('Reset')
    for label in ('Contact points', 'Contact forces'):
        client.set(label, True)
    client.wait('points', lambda: client.nodes['/world/contacts']['points'].size == 12)
    force = 1000.0 * SIZE[0] * SIZE[1] * SIZE[2] * 9.81 * client.widgets['Force scale']['value']
    client.wait(
        'arrows as long as the weight',
        lambda: np.allclose(
            np.diff(client.nodes['/world/forces']['points'].reshape(-1, 2, 3), axis=1).sum(axis=0),
            (0.0, 0.0, force),
            rtol=1e-3,
            atol=1e-3 * force,
        ),
    )


def test_speed_is_that_of_the_page(page):
    """Use the speed from the page, and reject invalid values."""
    _, viewer, client = page
    for speed in (0.5, 0.0, 1.0):
        client.set('Speed', speed)
        client.wait('the speed', lambda speed=speed: viewer.speed == speed)


def test_numbers_may_be_finer_than_their_steps(page):
    """Let browsers send typed numbers, which they round to a field's decimals."""
    _, _, client = page
    for label in ('Speed', 'Force scale', 'Least force', 'Size of marks', 'Scale of both'):
        assert client.wait_for(label)['precision'] >= 6, label
    assert client.widgets['Steps at once']['precision'] == 0


def test_commands_are_those_that_do_something(page):
    """List no keys for recordings without a recording."""
    assert set(page[2].commands) == {'Pause or play', 'Step', 'Reset'}


@pytest.mark.parametrize(
    ('control', 'read'),
    [('velocity', 'target_velocity'), ('effort', 'u'), ('servo', 'target_position')],
)
def test_sliders_command_in_all_controls(page, control, read):
    """Command efforts, velocities, positions and servos."""
    world, _, client = page
    axis = world.robots['arm'].joint('joint_3').axes[0]
    client.pause()
    client.set('Command', control)
    client.wait('sliders for commands', lambda: not client.widgets['joint_3']['disabled'])
    client.set('joint_3', 0.25)
    client.wait('the command', lambda: axis.control == control and getattr(axis, read) == 0.25)
    client.set('Command', 'measured')
    client.press('Reset')


def test_a_followed_link_stays_and_can_be_dragged(page):
    """Keep a followed link in its place, and drag it at the right point."""
    world, _, client = page
    client.set('Follow', 'box/box')
    client.wait(
        'the world moved',
        lambda: np.allclose(client.nodes['/world']['position'], -client.box(SIZE)[2], atol=1e-3),
    )
    name, number, place = client.box(SIZE)
    # a browser sends scene coordinates, and the scene has moved
    client.drag(name, number, 'start', (0.0, 0.0, 0.1), (0.0, 0.0, 0.1))
    client.drag(name, number, 'update', (0.0, 0.0, 0.1), (0.0, 0.0, 1.1))
    client.wait('the box in the air', lambda: client.box(SIZE)[2][2] > 0.6)
    assert np.abs(client.box(SIZE)[2][:2] - place[:2]).max() < 0.2
    client.drag(name, number, 'end', (0.0, 0.0, 0.1), (0.0, 0.0, 1.1))
    client.set('Follow', 'nothing')
    client.wait(
        'the world in its place', lambda: np.allclose(client.nodes['/world']['position'], 0.0)
    )


def test_who_leaves_lets_go(page):
    """End a disconnecting client's drag."""
    _, viewer, client = page
    name, number, place = client.wait('the box', lambda: client.box(SIZE))
    with PageClient(viewer.url) as other:
        other.drag(name, number, 'start', place, place)
        other.drag(name, number, 'update', place, place + (0.0, 0.0, 1.0))
        client.wait('the box in the air', lambda: client.box(SIZE)[2][2] > 0.6)
    client.wait('the box on the ground', lambda: client.box(SIZE)[2][2] < 0.2)


def test_pushes_of_the_program_are_arrows(page, between_steps):
    """Draw the forces applied by the program and by fields."""
    world, _, client = page
    force = np.array((0.0, 0.0, 50.0))
    link = world.robots['box'].links[0]
    hook = world.before_step(lambda _: link.add_force(force, link.wc + (0.05, 0.0, 0.0)))
    scale = client.widgets['Force scale']['value']

    def arrow():
        tail, tip = client.nodes['/world/pushes']['points'].reshape(-1, 2, 3)[0]
        return np.allclose(tip - tail, scale * force, atol=1e-4) and np.allclose(
            tail[:2], client.box(SIZE)[2][:2] + (0.05, 0.0), atol=1e-3
        )

    client.wait('the arrow', arrow)
    client.set('Pushes', False)
    client.wait('no arrow', lambda: not client.nodes['/world/pushes']['points'].size)
    client.set('Pushes', True)
    hook.remove()


@pytest.mark.parametrize(
    ('label', 'node'),
    [
        ('Frames of links', '/world/frames'),
        ('Centres of mass', '/world/centers'),
        ('Boxes of inertia', '/world/inertia'),
        ('Axes of joints', '/world/axes'),
    ],
)
def test_layers_come_and_go(page, label, node):
    """Draw marks while they are switched on."""
    _, _, client = page
    assert node not in client.nodes
    client.set(label, True)
    client.wait('the layer', lambda: node in client.nodes)
    client.set(label, False)
    client.wait('none', lambda: node not in client.nodes)


def test_bodies_come_and_go_while_the_page_is_open(page, between_steps):
    """Draw added bodies, and erase removed ones."""
    world, _, client = page
    size = (0.11, 0.12, 0.13)

    def is_there() -> bool:
        return any(
            np.allclose(each, size)
            for node in client.nodes.values()
            if node.get('batched_scales') is not None
            for each in node['batched_scales'].reshape(-1, 3)
        )

    client.set('Name', 'before')
    client.click('Save')
    client.wait('a snapshot', lambda: client.widgets['Kept']['value'] == 'before')
    between_steps(lambda: world.add_body(sb.Box(size), name='guest', position=(0.0, 1.0, 0.5)))
    client.wait('the guest', is_there)
    client.click('Restore')
    client.wait('an error', lambda: any('guest' in text for text in client.texts))
    between_steps(lambda: world.remove('guest'))
    client.wait('no guest', lambda: not is_there())
    client.wait('the box', lambda: client.box(SIZE))


def test_errors_of_the_program_are_on_the_page(page):
    """Show errors raised by `World.step`."""
    world, _, client = page

    def fail(world):
        raise ZeroDivisionError(f'in step {world.step_count} of {world.time} s')

    hook = world.before_step(fail)
    client.wait('the error', lambda: any('ZeroDivisionError' in text for text in client.texts))
    # messages that differ by numbers only are one
    message = client.wait(
        'more of them',
        lambda: [
            text for text in client.texts if 'ZeroDivisionError' in text and 'times)' in text
        ],
    )
    assert len(message) == 1 and message[0].count('ZeroDivisionError') == 1
    hook.remove()
    before = world.step_count
    client.wait('more steps', lambda: world.step_count > before)


def test_a_world_has_one_page(page):
    """Reject a second page of a world; open another after the first."""
    world, viewer, _ = page
    with pytest.raises(StateError, match='has a page'):
        world.view(browser=False)
    assert world.simulation.runner.hooks.watcher is viewer


def test_a_missing_viser_is_named(monkeypatch):
    """Name the missing extra."""
    monkeypatch.setitem(sys.modules, 'viser', None)
    with pytest.raises(MissingPackageError, match=r'\"sim_bridge\[view\]\".*`make tools`'):
        sb.World().view(browser=False)


def test_nobody_else_sees_the_token(page, monkeypatch):
    """Keep the token out of program arguments, which all users can read."""
    _, viewer, _ = page
    token = viewer.url.partition('=')[2]
    from sim_bridge.view.browser import open_browser

    opened = []
    monkeypatch.setattr(webbrowser, 'open', lambda url: not opened.append(url))
    open_browser(viewer.url)
    path = Path(url2pathname(urlsplit(opened[0]).path))
    assert token not in opened[0]
    assert viewer.url in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.unlink()
    own = Path('/proc')
    assert all(
        token.encode() not in (own / str(process.pid) / 'cmdline').read_bytes()
        for process in [viewer._page._process]
    )


def test_a_browser_that_is_not_there_leaves_the_address(monkeypatch, capsys):
    """Open the page without a browser."""
    from sim_bridge.view.browser import open_browser

    opened = []
    monkeypatch.setattr(webbrowser, 'open', lambda url: bool(opened.append(url)))
    open_browser('http://127.0.0.1:1/?token=a')
    assert 'http://127.0.0.1:1/?token=a' in capsys.readouterr().err
    assert not Path(url2pathname(urlsplit(opened[0]).path)).exists()


def wait_until_closed(url: str) -> None:
    """Wait until nobody listens."""
    port = urlsplit(url).port
    with suppress(ConnectionRefusedError, ConnectionResetError):
        while True:
            with socket.create_connection(('127.0.0.1', port), 10.0) as own:
                # the answer, or the end
                own.recv(1)


def test_a_page_that_is_killed_is_missed_by_nobody():
    """Continue at full speed after the page's process is killed, and leave no shared memory."""
    world = sb.World(STEP)
    world.add_body(sb.Box(SIZE), name='box')
    viewer = world.view(browser=False, paused=True)
    viewer._page._process.send_signal(signal.SIGKILL)
    viewer._page._process.wait()
    world.step(20)
    assert world.step_count == 20
    assert world.simulation.runner.hooks.watcher is None
    assert not viewer.is_open
    viewer.close()


def test_a_page_ends_with_its_program():
    """End the page's process when its program is killed."""
    code = """
import sim_bridge as sb
world = sb.World()
world.add_body(sb.Box((1.0, 1.0, 1.0)))
viewer = world.view(browser=False)
print(viewer.url, viewer._page._process.pid, flush=True)
viewer.wait()
"""
    with subprocess.Popen([sys.executable, '-c', code], stdout=subprocess.PIPE, text=True) as run:
        url, page = run.stdout.readline().split()
        # unlinked memory ends with its processes
        maps = Path(f'/proc/{page}/maps').read_text()
        shared = [line for line in maps.splitlines() if '/dev/shm' in line]
        assert all(line.endswith('(deleted)') for line in shared)
        os.kill(run.pid, signal.SIGKILL)
    wait_until_closed(url)


def test_a_page_ends_with_its_world():
    """Leave no process, thread or socket of a page after its world is deleted."""
    world = sb.World()
    page = world.view(browser=False)._page
    assert page.is_alive
    threads = set(page._threads)
    del world
    gc.collect()
    assert not page.is_alive
    assert not threads & set(threading.enumerate())


def test_a_forked_child_leaves_the_page_to_its_parent():
    """Step, close and open in a child: the parent's page stays, and shows the parent's world."""
    world = sb.World(STEP)
    with world.view(browser=False) as viewer:
        world.step(3)
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            try:
                with pytest.raises(StateError, match='before it was forked'):
                    viewer.sync()
                world.step(200)
                viewer.close()
                os._exit(0 if not viewer.is_open and world.step_count == 203 else 2)
            finally:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        assert viewer.is_open
        world.step()
        with PageClient(viewer.url) as client:
            client.wait_for('Pause')
            assert says(client) < 0.01


@pytest.mark.parametrize('share', [0.2, 0.6, 0.8, 0.95])
def test_an_interrupted_opening_leaves_no_page(share):
    """Interrupt the opening while the world is described: steps go on, another page opens."""
    world = sb.World(STEP)
    world.load_urdf(ROBOTS / 'pendulum.urdf')
    world.step()
    with Interrupt() as watched, world.view(browser=False):
        pass
    feed = [at for at, (file, _) in enumerate(watched.lines) if file.endswith('structure.py')]
    at = feed[int(share * len(feed))]
    with pytest.raises(KeyboardInterrupt), Interrupt(at) as interrupt:
        world.view(browser=False)
    assert interrupt.place
    world.step(3)
    with world.view(browser=False, speed=0.0) as viewer, PageClient(viewer.url):
        world.step(3)
