"""Recordings in a headless browser: page with time controls, and the exported file."""

import threading

from page_hand import different, Hand, launched
import pytest

import sim_bridge as sb
from sim_bridge.page.export import html
from sim_bridge.page.tape import Mark
from sim_bridge.view.player import Player
from sim_bridge.view.taping import Taping

# software rendering takes seconds for each picture
pytestmark = pytest.mark.long

STEP = 1e-3


@pytest.fixture(scope='module')
def tape():
    """Return the tape of a box that falls to the ground, with two marks."""
    world = sb.World(STEP)
    world.add_ground()
    world.add_body(sb.Box((0.4, 0.4, 0.4)), mass=5.0, name='box', position=(0.0, 0.0, 1.0))
    taping = Taping(world, 'fall', 50.0)
    for _ in range(1000):
        taping.look(world.time)
        world.step()
    return taping.tape([Mark(0.2, 'a mark', 'of a test'), Mark(0.4, 'landing', 'of the box')])


@pytest.fixture(scope='module')
def browser():
    """Yield a browser."""
    with launched() as started:
        yield started


def test_time_is_scrubbed_and_marks_are_found(browser, tape):
    """Seek by the bar, from mark to mark, and to the end."""
    with Player(tape, paused=True) as player:
        thread = threading.Thread(target=player.run)
        thread.start()
        hand = Hand(browser, player.url, 'text=Play')

        def shows(time: float) -> bool:
            return bool(hand.page.get_by_text(f'{time:.3f} s', exact=True).count())

        first = hand.still()
        hand.type('Time [s]', 0.3)
        hand.wait('the time', lambda: shows(0.3))
        hand.changes('the bar', first, 500)
        hand.press('Next mark')
        hand.wait('the mark', lambda: shows(0.4))
        hand.wait('its text', lambda: hand.page.get_by_text('landing').count())
        hand.press('Mark before')
        hand.wait('the mark before', lambda: shows(0.2))
        hand.page.keyboard.press('PageDown')
        hand.wait('the next mark by a key', lambda: shows(0.4))
        hand.page.keyboard.press('PageUp')
        hand.wait('the mark before by a key', lambda: shows(0.2))
        hand.choose('Go to', '2: 0.400 s landing: of the box')
        hand.wait('the mark chosen', lambda: shows(0.4))
        hand.press('Reset')
        hand.wait('the start', lambda: shows(0.0))
        hand.returns('the bar', first)
        hand.press('Step')
        hand.wait('a step', lambda: shows(0.02))
        hand.type('Speed', 4)
        hand.press('Play')
        hand.wait('the end', lambda: shows(tape.end) and hand.has_button('Play'))
        assert hand.elsewhere(player.url) == []
        hand.close()
    thread.join()


def test_a_shared_page_plays_from_a_file(browser, tape, tmp_path):
    """Open the file, which requests nothing else, and see the box fall."""
    path = tmp_path / 'fall.html'
    path.write_text(html(tape), encoding='utf-8')
    hand = Hand(browser, path.as_uri(), 'input[value="1x"]')
    first = hand.picture()
    hand.wait('a motion', lambda: different(first, hand.picture()) > 500)
    assert [
        each for each in hand.asked if not each.startswith((path.as_uri(), 'data:', 'blob:'))
    ] == []
    hand.close()
