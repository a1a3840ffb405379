"""A user's actions on the live page in a browser: tabs, folders, controls by their labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
import io
from pathlib import Path
import shutil
import sys
import time
from typing import Any

import numpy as np
from PIL import Image

TIMEOUT_S = 60.0  # software rendering takes long on a loaded machine
_WANTED = 'make test-long installs both; without make: pip install playwright, and Chromium'
_ARGUMENTS = (
    '--no-sandbox',
    '--use-gl=angle',
    '--use-angle=swiftshader',
    '--enable-unsafe-swiftshader',
    '--ignore-gpu-blocklist',
)
# left of the panel [pixels]
SEEN = {'x': 0, 'y': 10, 'width': 580, 'height': 500}

# viser's own controls, in the menu behind the panel's head
VISERS = {
    'Orbit Origin Tool',
    'Dev Settings',
    'Dark Mode',
    'WebGL Stats',
    'Show Viser Logo',
    'Log Camera to Console',
    'Show Orbit Crosshair',
    'Device Pixel Ratio',
    'Save Canvas',
    'Reset View',
    'Reset Panel Layout',
}

# opens the folder around an element; returns whether one had to be opened
_OPEN = """element => {
    for (let e = element; e; e = e.parentElement)
        if (e.getAttribute('aria-hidden') == 'true' && e.previousElementSibling) {
            e.previousElementSibling.click()
            return true
        }
    return false
}"""
# the inputs in the row of a label
_INPUTS = """label => {
    const found = [...document.querySelectorAll('label')].find(
        each => each.textContent.trim() == label)
    for (let e = found; e; e = e.parentElement) {
        const inputs = e.querySelectorAll('input:not([type=hidden]), textarea')
        if (inputs.length) return [...inputs]
    }
    return []
}"""
_BUTTON = """label => [...document.querySelectorAll('button')].find(
    each => each.textContent.trim() == label)"""
_CANVAS = """() => {
    const sizes = [...document.querySelectorAll('canvas')].map(e => e.getBoundingClientRect())
    const {x, y, width, height} = sizes.reduce(
        (a, b) => a.width * a.height > b.width * b.height ? a : b)
    return {x, y, width, height}
}"""
_PLOTS = """() => [...document.querySelectorAll('.uplot canvas')].map(
    each => each.toDataURL()).join()"""
_LABELS = """() => [...new Set([
    ...[...document.querySelectorAll('label')].map(each => each.textContent.trim()),
    ...[...document.querySelectorAll('button')].map(each => each.textContent.trim())])]"""


def find_browser() -> str:
    """Return the browser's program; raise FileNotFoundError with installation advice."""
    own = Path(sys.prefix) / 'browser' / 'chromium'
    program = str(own) if own.exists() else shutil.which('chromium')
    if program is None:
        raise FileNotFoundError(f'there is no Chromium in {own.parent} or on the path: {_WANTED}')
    return program


@contextmanager
def launched() -> Iterator[Any]:
    """Yield a browser; raise an error with installation advice without one."""
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError as err:
        raise ModuleNotFoundError(f'there is no playwright: {_WANTED}') from err
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=find_browser(), args=_ARGUMENTS, timeout=TIMEOUT_S * 1e3
        )
        yield started
        started.close()


class Hand:
    """A page, opened in its own tab. asked: its requests."""

    def __init__(self, browser: Any, url: str, awaited: str = 'text=Pause'):
        """Open an address, and wait for a selector's match."""
        # an explicit language: JavaScript does not know the C locale's
        self.page = browser.new_page(viewport={'width': 920, 'height': 520}, locale='en-US')
        self.asked: list[str] = []
        self.page.set_default_timeout(TIMEOUT_S * 1e3)
        self.page.on('request', lambda request: self.asked.append(request.url))
        self.page.on('websocket', lambda each: self.asked.append(each.url))
        self.page.goto(url, wait_until='commit')
        # also waits through redirects
        self.page.locator(awaited).first.wait_for(state='attached')
        # hides viser's notification about software rendering
        self.page.add_style_tag(content='.mantine-Notification-root { display: none }')

    def wait(self, what: str, is_so: Callable[[], Any]) -> Any:
        """Wait until a condition holds; return its value."""
        end = time.monotonic() + TIMEOUT_S
        while not (found := is_so()):
            assert time.monotonic() < end, f'waited in vain: {what}'
            self.page.wait_for_timeout(50)
        return found

    def labels(self) -> set[str]:
        """Return all control labels on the page except viser's own."""
        return {each for each in self.page.evaluate(_LABELS) if each} - VISERS

    def tab(self, name: str) -> None:
        """Choose a tab."""
        self.page.get_by_role('tab', name=name).click()

    def has_button(self, label: str) -> bool:
        """Return whether there is a button."""
        return bool(self.page.evaluate(f'label => Boolean(({_BUTTON})(label))', label))

    def press(self, label: str) -> None:
        """Press a button, without waiting for a busy renderer."""
        self.wait(f'the button {label}', lambda: self.has_button(label))
        button = self.page.evaluate_handle(_BUTTON, label).as_element()
        assert button is not None, f'there is no button {label}: {self.labels()}'
        self._open(button)
        button.evaluate('each => each.click()')

    def has(self, label: str) -> bool:
        """Return whether there is a control."""
        return label in self.labels()

    def check(self, label: str, is_on: bool) -> None:
        """Set a check box."""
        (box,) = self._inputs(label)
        if box.evaluate('each => each.checked') != is_on:
            box.evaluate('each => each.click()')

    def type(self, label: str, *texts: object) -> None:
        """Type into a control's fields, one after the other."""
        fields = self._inputs(label)
        for field, text in zip(fields[-len(texts) :], texts, strict=True):
            field.fill(str(text), force=True)
            if field.evaluate('each => each.tagName') == 'INPUT':
                field.press('Enter')
            field.evaluate('each => each.blur()')
            # the page sends typed text slightly later than key presses
            self.page.wait_for_timeout(500)

    def identity(self, label: str) -> str:
        """Return an identifier that differs for a later control with the same label."""
        return str(self._inputs(label)[-1].get_attribute('id'))

    def text(self, label: str) -> str:
        """Return the text in a control's last field."""
        return str(self._inputs(label)[-1].evaluate('each => each.value'))

    def choose(self, label: str, option: str) -> None:
        """Choose a list option."""
        field = self._inputs(label)[0]
        field.evaluate('each => { each.focus(); each.click() }')
        chosen = self.page.locator('[role=option]', has_text=option)
        self.wait(
            f'{option} in {label}',
            lambda: any(
                each.is_visible() and each.inner_text().strip() == option for each in chosen.all()
            ),
        )
        for each in chosen.all():
            if each.is_visible() and each.inner_text().strip() == option:
                each.evaluate('each => each.click()')
                break
        self.wait(f'{option} chosen', lambda: self._inputs(label)[0].input_value() == option)

    def canvas(self) -> dict[str, float]:
        """Return x, y, width and height of the scene [pixels]."""
        found: dict[str, float] = self.page.evaluate(_CANVAS)
        return found

    def plots(self) -> str:
        """Return all plots' picture, as text."""
        return str(self.page.evaluate(_PLOTS))

    def picture(self) -> np.ndarray:
        """Return the scene's pixels, (h, w, 3)."""
        with Image.open(
            io.BytesIO(self.page.screenshot(clip=SEEN, timeout=TIMEOUT_S * 1e3))
        ) as picture:
            return np.asarray(picture.convert('RGB')).astype(int)

    def still(self) -> np.ndarray:
        """Return the pixels once two pictures are equal."""
        before = self.picture()
        while True:
            self.page.wait_for_timeout(100)
            after = self.picture()
            if not different(before, after):
                return after
            before = after

    def changes(self, what: str, before: np.ndarray, least: int = 4) -> np.ndarray:
        """Wait until the scene differs from a picture in some pixels; return a still picture."""
        self.wait(f'a change by {what}', lambda: different(before, self.picture()) >= least)
        return self.still()

    def returns(self, what: str, before: np.ndarray) -> None:
        """Wait until the scene equals a picture again."""
        self.wait(f'what was before {what}', lambda: different(before, self.picture()) < 4)

    def elsewhere(self, url: str) -> list[str]:
        """Return the requests to other addresses than the page's own."""
        own = url.partition('/?')[0].removeprefix('http')
        return [
            each
            for each in self.asked
            if not each.startswith((f'http{own}', f'ws{own}', 'data:', 'blob:'))
        ]

    def close(self) -> None:
        """Close the tab."""
        self.page.close()

    def _inputs(self, label: str) -> list[Any]:
        # a tab is filled after it was chosen
        self.wait(f'the control {label}', lambda: self.has(label))
        found = self.page.evaluate_handle(_INPUTS, label)
        elements = [each.as_element() for each in found.get_properties().values()]
        fields = [each for each in elements if each is not None]
        assert fields, f'there is no control {label}: {self.labels()}'
        self._open(fields[0])
        return fields

    def _open(self, element: Any) -> None:
        if element.evaluate(_OPEN):
            # opening is animated
            self.page.wait_for_timeout(400)


def different(a: np.ndarray, b: np.ndarray) -> int:
    """Count the visibly different pixels in two pictures."""
    return int((np.abs(a - b).max(axis=2) > 12).sum())
