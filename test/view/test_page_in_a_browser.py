"""The live page in a headless browser: every control, by what is drawn and what the world does."""

from contextlib import contextmanager
import threading

from page_hand import Hand, launch
import pytest
from shipped import path_of

import sim_bridge as sb

# a processor that draws takes seconds for each picture
pytestmark = [pytest.mark.long, pytest.mark.timeout(1200)]

SCENE = {'world': {
    'ground': True,
    'objects': {
        'box': {'box': [0.5, 0.5, 0.5], 'position': [0.9, 0.0, 0.25], 'density': 100},
        'belt': {'motion': 'static', 'box': [1.0, 0.4, 0.1], 'position': [-0.9, 0.8, 0.05],
                 'surface_velocity': [0.5, 0, 0]},
        'left': {'sphere': 0.1, 'position': [-0.6, -0.8, 0.5], 'gravity': False},
        'right': {'sphere': 0.1, 'position': [-0.2, -0.8, 0.5], 'gravity': False,
                  'sensors': {'scan': {
                      'type': 'lidar', 'range': {'min': 0.15, 'max': 3},
                      'horizontal': {'samples': 9, 'min_angle': -1, 'max_angle': 1}}}}},
    'robots': {'arm': {'urdf': str(path_of('arm')), 'position': [0, 0.2, 0]}},
    'joints': {'link': {'type': 'ball', 'between': ['left', 'right'],
                        'anchor': [-0.4, -0.8, 0.5], 'tree': False}},
}}

# what is drawn more, or otherwise, by a check box in the tab Show; and how it is at first
DRAWN = {
    'Wireframe': False, 'Stripes of belts': True, 'Contact points': False,
    'Contact forces': False, 'Frames of links': False, 'Centres of mass': False,
    'Boxes of inertia': False, 'Axes of joints': False, 'Loop joints': False,
    'Places of sensors': False, 'Rays': True, 'Grid': True,
    'Axes of the world': False}


class Shown:
    """A world that steps on a thread, its viewer, and a hand on its page."""

    def __init__(self, browser, world, viewer):
        self.world, self.viewer = world, viewer
        self.hand = Hand(browser, viewer.url)

    def pause(self):
        """Pause, if it plays."""
        if not self.viewer.is_paused:
            self.hand.wait('the button Pause', lambda: self.hand.has_button('Pause'))
            self.hand.press('Pause')
        self.hand.wait('a pause', lambda: self.viewer.is_paused)

    def play(self):
        """Play, if it is paused."""
        if self.viewer.is_paused:
            self.hand.wait('the button Play', lambda: self.hand.has_button('Play'))
            self.hand.press('Play')
        self.hand.wait('play', lambda: not self.viewer.is_paused)


@contextmanager
def shown(browser, world):
    """Yield a world that steps on a thread and is on a page."""
    is_done = threading.Event()
    with world.view(browser=False) as viewer:
        def run() -> None:
            while not is_done.is_set():
                world.step()

        thread = threading.Thread(target=run)
        thread.start()
        found = None
        try:
            found = Shown(browser, world, viewer)
            yield found
        finally:
            is_done.set()
            if found is not None:
                found.hand.close()
            # a step may wait for the page
            viewer.close()
            thread.join()


@pytest.fixture(scope='module')
def browser():
    """Yield a browser; where there is none the test fails with what to install."""
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        pytest.fail('there is no playwright: make test-long installs it')
    with sync_playwright() as playwright:
        started = launch(playwright)
        yield started
        started.close()


@pytest.fixture
def page(browser):
    """Yield the scene, paused at first."""
    world = sb.World(1e-3)
    world.load_scene(SCENE)
    with shown(browser, world) as found:
        found.pause()
        yield found


def test_the_clock_obeys(page):
    """Step, step by several, by keys; reset, play; with nothing asked of elsewhere."""
    hand, world = page.hand, page.world
    before = world.step_count
    hand.press('Step')
    hand.wait('a step', lambda: world.step_count == before + 1)
    hand.page.wait_for_timeout(300)
    assert world.step_count == before + 1
    hand.wait('its time', lambda: hand.page.get_by_text(f'{world.time:.3f} s').count())
    hand.type('Steps at once', 7)
    hand.press('Step')
    hand.wait('seven steps', lambda: world.step_count == before + 8)
    hand.page.keyboard.press('ArrowRight')
    hand.wait('seven by a key', lambda: world.step_count == before + 15)
    hand.page.keyboard.press('r')
    hand.wait('a reset', lambda: world.step_count == 0)
    hand.page.keyboard.press('Space')
    hand.wait('play by a key', lambda: not page.viewer.is_paused)
    hand.type('Speed', 0.5)
    hand.wait('half speed', lambda: page.viewer.speed == 0.5)
    page.pause()
    hand.press('Reset')
    hand.wait('a reset by the button', lambda: world.step_count == 0)
    assert hand.asked and hand.elsewhere(page.viewer.url) == []
    # the secret has left the address
    assert 'token' not in hand.page.url


def test_snapshots_are_kept_and_restored(page):
    """Save under a name, go on, come back, and forget."""
    hand, world = page.hand, page.world
    kept = world.step_count
    hand.type('Name', 'before')
    hand.press('Save')
    hand.wait('the name', lambda: hand.text('Kept') == 'before')
    hand.type('Steps at once', 20)
    hand.press('Step')
    hand.wait('steps', lambda: world.step_count == kept + 20)
    hand.press('Restore')
    hand.wait('the snapshot', lambda: world.step_count == kept)
    hand.press('Delete')
    hand.wait('no name', lambda: hand.text('Kept') != 'before')


def touching(page):
    """Step until there are contacts; return the hand, on the tab Show, and what is seen."""
    hand = page.hand
    hand.type('Steps at once', 300)
    before = page.world.step_count
    hand.press('Step')
    hand.wait('steps', lambda: page.world.step_count == before + 300)
    hand.tab('Show')
    hand.page.wait_for_timeout(1000)
    return hand, hand.still()


def test_what_is_shown_can_be_chosen(page):
    """Draw more or less by each check box of the tab Show, and again what was before."""
    hand, base = touching(page)
    for label, is_on in DRAWN.items():
        hand.check(label, not is_on)
        hand.changes(label, base)
        hand.check(label, is_on)
        hand.returns(label, base)


def test_shapes_and_marks_are_drawn_as_chosen(page):
    """Draw other shapes, colours and sizes, and again what was before."""
    hand, base = touching(page)
    for label, options in (('Shapes', ('Collision', 'Both', 'Visual')),
                           ('Colours', ('by motion', 'their own'))):
        for option in options[:-1]:
            hand.choose(label, option)
        hand.changes(label, base)
        hand.choose(label, options[-1])
        hand.returns(label, base)
    hand.type('Opacity', 0.3)
    hand.changes('opacity', base, 500)
    hand.type('Opacity', 1)
    hand.returns('opacity', base)
    for label, on, first, then in (
            ('Force scale', 'Contact forces', 0.02, 0.05),
            ('Least force', 'Contact forces', 0, 1e6),
            ('Size of marks', 'Frames of links', 0.1, 0.3)):
        usual = hand.text(label)
        hand.type(label, first)
        hand.check(on, True)
        drawn = hand.changes(on, base)
        hand.type(label, then)
        hand.changes(label, drawn)
        hand.type(label, first)
        hand.returns(label, drawn)
        hand.check(on, False)
        hand.returns(on, base)
        hand.type(label, usual)


def test_joints_are_commanded_by_sliders(page):
    """Let a slider command the position of a joint; go back to what is measured."""
    hand, arm = page.hand, page.world.robots['arm']
    page.play()
    hand.tab('Joints')
    hand.choose('Robot', 'arm')
    hand.choose('Command', 'position')
    hand.wait('the slider', lambda: hand.has('joint_2'))

    def is_there() -> bool:
        # sliders are made anew after the choice, and what was typed before is lost
        hand.type('joint_2', 0.4)
        hand.page.wait_for_timeout(2000)
        return abs(arm.q[1] - 0.4) < 0.02

    hand.wait('the joint', is_there)
    hand.choose('Command', 'measured')
    arm.joint('joint_2').axes[0].target_position = 0.7
    hand.wait('what is measured', lambda: abs(float(hand.text('joint_2')) - 0.7) < 0.02)


def test_every_control_has_a_test(browser):
    """Find no control that the tests above do not touch, but those that only `PageClient` does."""
    untested = {
        'Force and torque', 'Scale of both', 'Pushes', 'Follow', 'Save picture', 'Value', 'Add',
        'Clear', 'Seconds', 'Hold still', 'Link', 'Force [N]', 'For seconds', 'Push'}
    world = sb.World(1e-3)
    world.load_scene(SCENE)
    tested = {
        'Pause', 'Play', 'Step', 'Steps at once', 'Speed', 'Reset', 'Name', 'Save', 'Kept',
        'Restore', 'Delete', *DRAWN, 'Shapes', 'Colours', 'Opacity', 'Force scale',
        'Least force', 'Size of marks', 'Robot', 'Command',
        *(f'joint_{number}' for number in range(1, 8))}
    with shown(browser, world) as found:
        labels = set()
        for name in ('Show', 'Joints', 'Plots', 'Run'):
            found.hand.tab(name)
            found.hand.page.wait_for_timeout(500)
            labels |= found.hand.labels()
        assert labels - tested == untested
        assert tested - labels - {'Play'} == set()
