"""Live page in a headless browser: all controls, by the drawing and the world's reaction."""

from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
import threading

import numpy as np
from page_hand import different, Hand, launched, SEEN
from PIL import Image
import pytest
from shipped import path_of

import sim_bridge as sb

# software rendering takes seconds for each picture
pytestmark = pytest.mark.long

SCENE = {
    'world': {
        'ground': True,
        'objects': {
            'box': {'box': [0.5, 0.5, 0.5], 'position': [0.9, 0.0, 0.25], 'density': 100},
            'belt': {
                'motion': 'static',
                'box': [1.0, 0.4, 0.1],
                'position': [-0.9, 0.8, 0.05],
                'surface_velocity': [0.5, 0, 0],
            },
            'left': {'sphere': 0.1, 'position': [-0.6, -0.8, 0.5], 'gravity': False},
            'right': {
                'sphere': 0.1,
                'position': [-0.2, -0.8, 0.5],
                'gravity': False,
                'sensors': {
                    'scan': {
                        'type': 'lidar',
                        'range': {'min': 0.15, 'max': 3},
                        'horizontal': {'samples': 9, 'min_angle': -1, 'max_angle': 1},
                    }
                },
            },
        },
        'robots': {'arm': {'urdf': str(path_of('arm')), 'position': [0, 0.2, 0]}},
        'joints': {
            'link': {
                'type': 'ball',
                'between': ['left', 'right'],
                'anchor': [-0.4, -0.8, 0.5],
                'tree': False,
            }
        },
    }
}

# effect of each check box in the tab Show: more is drawn, or something else; initial state
DRAWN = {
    'Wireframe': False,
    'Stripes of belts': True,
    'Contact points': False,
    'Contact forces': False,
    'Frames of links': False,
    'Centres of mass': False,
    'Boxes of inertia': False,
    'Axes of joints': False,
    'Loop joints': False,
    'Places of sensors': False,
    'Rays': True,
    'Frustums': True,
    'Grid': True,
    'Axes of the world': False,
}


class Shown:
    """World stepped on a thread, its viewer, and a simulated hand on its page."""

    def __init__(self, browser, world, viewer):
        self.world, self.viewer = world, viewer
        # held by each step; a paused step waits, and keeps it
        self.lock = threading.Lock()
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
    """Yield a world stepped on a thread and shown on a page."""
    is_done = threading.Event()
    with world.view(browser=False) as viewer:

        def run() -> None:
            while not is_done.is_set():
                with found.lock:
                    world.step()

        found = Shown(browser, world, viewer)
        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield found
        finally:
            is_done.set()
            found.hand.close()
            # a step may wait for the page
            viewer.close()
            thread.join()


@pytest.fixture(scope='module')
def browser():
    """Yield a browser."""
    with launched() as started:
        yield started


@pytest.fixture
def page(browser):
    """Yield the scene, paused at first."""
    world = sb.World(1e-3)
    world.load_scene(SCENE)
    with shown(browser, world) as found:
        found.pause()
        yield found


def test_the_clock_obeys(page):
    """Step, step several, use keys; reset, play; request nothing from other servers."""
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
    """Save under a name, continue, return, and delete."""
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
    """Step until there are contacts; return the hand, on the tab Show, and the picture."""
    hand = page.hand
    hand.type('Steps at once', 300)
    before = page.world.step_count
    hand.press('Step')
    hand.wait('steps', lambda: page.world.step_count == before + 300)
    hand.tab('Show')
    hand.page.wait_for_timeout(1000)
    return hand, hand.still()


def test_check_boxes_change_the_drawing(page):
    """Change the drawing with each check box in the tab Show, and back."""
    hand, base = touching(page)
    for label, is_on in DRAWN.items():
        hand.check(label, not is_on)
        hand.changes(label, base)
        hand.check(label, is_on)
        hand.returns(label, base)


def test_shapes_and_marks_are_drawn_as_chosen(page):
    """Draw other shapes, colours and sizes, and the first ones again."""
    hand, base = touching(page)
    for label, options in (
        ('Shapes', ('Collision', 'Both', 'Visual')),
        ('Colours', ('by motion', 'their own')),
    ):
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
        ('Size of marks', 'Frames of links', 0.1, 0.3),
    ):
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


def test_a_link_is_followed(page):
    """Keep a link in its place by moving the world."""
    hand, base = touching(page)
    hand.choose('Follow', 'box/box')
    hand.changes('Follow', base, 1000)
    hand.choose('Follow', 'nothing')
    hand.returns('Follow', base)


def test_forces_and_torques_are_drawn(page):
    """Draw the wrist sensor's readings, through transparent surfaces."""
    hand, _ = touching(page)
    hand.type('Opacity', 0.05)
    base = hand.still()
    hand.type('Scale of both', 0.05)
    hand.check('Force and torque', True)
    drawn = hand.changes('Force and torque', base)
    hand.type('Scale of both', 0.2)
    hand.changes('Scale of both', drawn)
    hand.check('Force and torque', False)
    hand.returns('Force and torque', base)


def test_a_camera_shows_its_picture(browser):
    """Draw the image in the camera's frustum and in the panel; another picture for depth."""
    world = sb.World(1e-3)
    world.add_ground()
    world.load_urdf(path_of('rover'), name='rover', position=(0.0, 0.0, 0.2))
    world.add_body(sb.Box((0.3, 0.3, 0.3)), position=(1.2, 0.1, 0.15), motion='static')
    with shown(browser, world) as found:
        found.pause()
        hand = found.hand
        hand.tab('Show')
        plain = hand.still()
        hand.choose('Camera', 'rover/camera')
        image = hand.changes('the image', plain, least=100)
        assert hand.page.locator('img[src^="blob:"]').count() == 1
        hand.choose('Picture', 'depth')
        hand.changes('the depth', image, least=100)
        hand.choose('Camera', 'none')
        hand.returns('the picture', plain)


def test_the_view_is_saved_as_a_picture(page):
    """Download a PNG equal to the scene on the page."""
    hand, base = touching(page)
    with hand.page.expect_download() as download:
        hand.press('Save picture')
    path = Path(download.value.path())
    assert download.value.suggested_filename.endswith('.png')
    with Image.open(path) as picture:
        saved = np.asarray(picture.convert('RGB')).astype(int)
    place = hand.canvas()
    scale = saved.shape[1] / place['width']
    assert saved.shape[0] == pytest.approx(scale * place['height'], abs=1.0)
    with Image.open(path) as picture:
        smaller = picture.convert('RGB').resize((round(place['width']), round(place['height'])))
    seen = np.asarray(smaller).astype(int)[
        SEEN['y'] : SEEN['y'] + SEEN['height'], SEEN['x'] : SEEN['x'] + SEEN['width']
    ]
    # grid lines are smoothed differently
    assert different(seen, base) < 0.05 * base[:, :, 0].size


def test_a_link_is_pushed_by_numbers(page):
    """Push the box towards the camera; draw the push, and hide it."""
    hand, box = page.hand, page.world.robots['box']
    before = box.root_link.p.copy()
    hand.choose('Link', 'box/box')
    hand.type('Force [N]', 0, -200, 0)
    hand.type('For seconds', 0.2)
    hand.press('Push')
    hand.type('Steps at once', 100)
    count = page.world.step_count
    hand.press('Step')
    hand.wait('steps', lambda: page.world.step_count == count + 100)
    assert box.root_link.p[1] < before[1] - 1e-3
    hand.tab('Show')
    drawn = hand.still()
    hand.check('Pushes', False)
    without = hand.changes('Pushes', drawn)
    hand.check('Pushes', True)
    hand.changes('Pushes', without)
    hand.tab('Run')
    hand.press('Step')
    hand.press('Step')
    hand.wait('steps', lambda: page.world.step_count == count + 300)
    assert not page.world.simulation.cache.last_applied.pushes().size


def test_a_body_is_pulled_by_the_mouse(browser):
    """Drag the body in the picture's middle to the right, and release it."""
    world = sb.World(1e-3, gravity=(0.0, 0.0, 0.0))
    box = world.add_body(sb.Box((0.5, 0.5, 0.5)), 'box', mass=5.0, position=(0.0, 0.0, 1.0))
    box.root_link.angular_velocity_damping = (5.0, 5.0, 5.0)
    with shown(browser, world) as found:
        hand, mouse = found.hand, found.hand.page.mouse
        found.play()
        hand.tab('Show')
        base = hand.still()
        place = hand.canvas()
        x = place['x'] + 0.5 * place['width']
        y = place['y'] + 0.5 * place['height']
        hand.page.keyboard.down('Control')
        mouse.move(x - 5, y)
        hand.page.wait_for_timeout(1000)
        mouse.move(x, y)
        hand.page.wait_for_timeout(1000)
        mouse.down()

        def is_turned() -> bool:
            # it is held off its centre
            mouse.move(x + next(ways), y)
            hand.page.wait_for_timeout(200)
            with found.lock:
                return np.abs(box.root_link.R - np.eye(3)).max() > 0.05

        def is_at_rest() -> bool:
            with found.lock:
                return np.linalg.norm(box.root_link.w) < 1e-3

        ways = cycle(range(5, 80, 5))
        hand.wait('a pull', is_turned)
        hand.changes('the pull', base, 100)
        mouse.up()
        hand.page.keyboard.up('Control')
        hand.wait('no force', lambda: not world.simulation.cache.last_applied.pushes().size)
        hand.wait('no turning', is_at_rest)


def test_values_are_plotted_while_they_come(page):
    """Draw curves; hold and release them; clear them."""
    hand = page.hand
    hand.tab('Plots')
    empty = hand.wait('a plot', hand.plots)
    hand.choose('Value', 'lateness [s]')
    hand.choose('Value', 'contacts')
    hand.press('Add')
    page.play()
    hand.tab('Plots')
    hand.wait('a curve', lambda: hand.plots() != empty)
    hand.check('Hold still', True)
    hand.page.wait_for_timeout(1000)
    held = hand.plots()
    before = page.world.step_count
    hand.wait('steps', lambda: page.world.step_count > before + 500)
    assert hand.plots() == held
    hand.type('Seconds', 3)
    hand.check('Hold still', False)
    hand.wait('newer values', lambda: hand.plots() != held)
    hand.press('Clear')

    def is_still() -> bool:
        before, count = hand.plots(), page.world.step_count
        hand.wait('steps', lambda: page.world.step_count > count + 500)
        return hand.plots() == before

    hand.wait('no curves', is_still)


def test_joints_are_commanded_by_sliders(page):
    """Command a joint position by a slider; return to measured values."""
    hand, arm = page.hand, page.world.robots['arm']
    page.play()
    hand.tab('Joints')
    hand.choose('Robot', 'arm')
    measured = hand.identity('joint_2')
    hand.type('joint_2', 0.3)
    hand.wait('what to do', lambda: hand.page.get_by_text('choose a command').count())
    hand.choose('Command', 'position')
    hand.wait(
        'another slider', lambda: hand.has('joint_2') and hand.identity('joint_2') != measured
    )
    commanded = hand.identity('joint_2')
    hand.type('joint_2', 0.4)
    hand.wait('the joint', lambda: abs(arm.q[1] - 0.4) < 0.02)
    hand.choose('Command', 'measured')
    hand.wait(
        'another slider', lambda: hand.has('joint_2') and hand.identity('joint_2') != commanded
    )
    arm.joint('joint_2').axes[0].target_position = 0.7
    hand.wait('its value', lambda: abs(float(hand.text('joint_2')) - 0.7) < 0.02)


def test_every_control_has_a_test(browser):
    """Find no control without a test above."""
    world = sb.World(1e-3)
    world.load_scene(SCENE)
    tested = {
        'Pause',
        'Play',
        'Step',
        'Steps at once',
        'Speed',
        'Reset',
        'Name',
        'Save',
        'Kept',
        'Restore',
        'Delete',
        *DRAWN,
        'Shapes',
        'Colours',
        'Camera',
        'Opacity',
        'Force scale',
        'Least force',
        'Size of marks',
        'Robot',
        'Command',
        'Force and torque',
        'Scale of both',
        'Pushes',
        'Follow',
        'Save picture',
        'Value',
        'Add',
        'Clear',
        'Seconds',
        'Hold still',
        'Link',
        'Force [N]',
        'For seconds',
        'Push',
        *(f'joint_{number}' for number in range(1, 8)),
    }
    with shown(browser, world) as found:
        labels = set()
        for name in ('Show', 'Joints', 'Plots', 'Run'):
            found.hand.tab(name)
            found.hand.page.wait_for_timeout(500)
            labels |= found.hand.labels()
        assert labels - tested == set()
        assert tested - labels - {'Play'} == set()
