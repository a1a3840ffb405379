"""The live page in a headless browser: what is drawn, and what its controls do."""

from contextlib import ExitStack
import io
from pathlib import Path
import shutil
import sys
import threading
import time

import numpy as np
from PIL import Image
import pytest

import sim_bridge as sb

pytestmark = pytest.mark.long

_WANTED = 'make test-long installs both; without make: pip install playwright, and Chromium'
_TIMEOUT = 120.0  # s; drawing by the processor takes long on a loaded machine
_ARGUMENTS = (
    '--no-sandbox', '--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader',
    '--ignore-gpu-blocklist')


@pytest.fixture(scope='module')
def browser():
    """Yield a browser; where there is none the test fails with what to install."""
    own = Path(sys.prefix) / 'browser' / 'chromium'
    program = str(own) if own.exists() else shutil.which('chromium')
    if program is None:
        pytest.fail(f'there is no Chromium in {own.parent} or on the path: {_WANTED}')
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        pytest.fail(f'there is no playwright: {_WANTED}')
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=program, args=_ARGUMENTS, timeout=_TIMEOUT * 1e3)
        yield started
        started.close()


@pytest.fixture(scope='module')
def world():
    """Yield a world with a box, its viewer, and all requests; the world steps on a thread."""
    made = sb.World(1e-3)
    made.add_ground()
    made.add_body(sb.Box((0.8, 0.8, 0.8)), name='box', position=(0.0, 0.0, 0.4))
    is_done = threading.Event()
    with ExitStack() as stack:
        viewer = stack.enter_context(made.view(browser=False))

        def run() -> None:
            while not is_done.is_set():
                made.step()

        thread = threading.Thread(target=run)
        thread.start()
        stack.callback(thread.join)
        stack.callback(viewer.close)
        stack.callback(is_done.set)
        yield made, viewer


@pytest.fixture(scope='module')
def page(browser, world):
    """Yield the page of the world, and what it has asked for."""
    # a language of its own: that of the C locale is none that JavaScript knows
    opened = browser.new_page(viewport={'width': 900, 'height': 600}, locale='en-US')
    asked = []
    opened.set_default_timeout(_TIMEOUT * 1e3)
    opened.on('request', lambda request: asked.append(request.url))
    opened.on('websocket', lambda each: asked.append(each.url))
    opened.goto(world[1].url, wait_until='commit')
    opened.get_by_text('Pause').first.wait_for(state='attached')
    return opened, asked


def wait(page, what, is_so):
    """Wait until something is so."""
    end = time.monotonic() + _TIMEOUT
    while not (found := is_so()):
        assert time.monotonic() < end, f'waited in vain: {what}'
        page.wait_for_timeout(100)
    return found


def press(page, label):
    """Press a button, without waiting for a renderer that is busy."""
    assert page.evaluate("""label => {
        const found = [...document.querySelectorAll('button')].find(
            each => each.innerText.trim() == label)
        found?.click()
        return Boolean(found)
    }""", label), label


def orange(page) -> int:
    """Return how many pixels have the colour of what moves."""
    with Image.open(io.BytesIO(page.screenshot(timeout=_TIMEOUT * 1e3))) as picture:
        pixels = np.asarray(picture.convert('RGB')).astype(int)
    r, g, b = pixels[:, :600].reshape(-1, 3).T
    return int(((r > g + 40) & (g > b + 20)).sum())


def test_controls_and_pixels(page, world):
    """Pause, step, reset and play in a browser; see the colour of the box."""
    opened, asked = page
    made, viewer = world
    press(opened, 'Pause')
    wait(opened, 'a pause', lambda: viewer.is_paused)
    opened.get_by_text('Play').first.wait_for(state='attached')
    before = made.step_count
    press(opened, 'Step')
    wait(opened, 'a step', lambda: made.step_count == before + 1)
    opened.wait_for_timeout(300)
    assert made.step_count == before + 1
    wait(opened, 'its time', lambda: opened.get_by_text(f'{made.time:.3f} s').count())
    opened.keyboard.press('ArrowRight')
    wait(opened, 'a step by its key', lambda: made.step_count == before + 2)
    wait(opened, 'the box', lambda: orange(opened) > 500)
    press(opened, 'Reset')
    wait(opened, 'a reset', lambda: made.step_count == 0)
    press(opened, 'Play')
    wait(opened, 'play', lambda: made.step_count > 10)
    own = viewer.url.partition('/?')[0].removeprefix('http')
    elsewhere = [url for url in asked
                 if not url.startswith((f'http{own}', f'ws{own}', 'data:', 'blob:'))]
    assert asked and not elsewhere
    # the secret has left the address
    assert 'token' not in opened.url
