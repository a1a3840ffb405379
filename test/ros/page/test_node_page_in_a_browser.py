"""The node's page in a headless browser: controls missing on a program's page."""

from page_hand import Hand, launched
import pytest
from ros_graph import Graph
from running_node import node
from sensor_msgs.msg import JointState

# software rendering takes seconds per picture
pytestmark = [
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning"),
]

# controls of every page, tested in test_page_in_a_browser.py
COMMON = {
    'Pause',
    'Step',
    'Steps at once',
    'Speed',
    'Reset',
    'Name',
    'Save',
    'Kept',
    'Restore',
    'Delete',
    'Link',
    'Force [N]',
    'For seconds',
    'Push',
    'Robot',
    'Command',
}


@pytest.fixture(scope='module')
def page():
    """Yield a hand on the page of a node with an arm, and a node on the graph beside it."""
    own = node('robot:=arm', 'view:=true', 'rate:=250.0')
    try:
        with launched() as browser, Graph([own.process]) as graph:
            hand = Hand(browser, own.hear(r'live page: (\S+)'))
            # a first start compiles, for minutes on a busy machine
            own.hear('ready: ')
            yield hand, graph
            hand.close()
    finally:
        own.kill()


def test_points_by_hand_are_followed(page):
    """Teach a point, add another by typing, follow both; name the invalid line."""
    hand, _ = page
    hand.tab('Joints')
    hand.wait('the sliders', lambda: hand.has('joint_7'))
    hand.press('Add point')
    taught = hand.wait('a point', lambda: hand.text('Points'))
    assert len(taught.split()) == 8
    hand.type('Seconds per point', 0.5)
    hand.press('Add point')
    hand.wait('another', lambda: len(hand.text('Points').splitlines()) == 2)
    hand.type('Points', '0.2 0 0 0 0 0 0 0\n0.6 0.1 0.2 0.1 0.2 0.1 0.2 0.1')
    hand.press('Follow points')
    hand.wait('its end', lambda: abs(float(hand.text('joint_2')) - 0.2) < 1e-2)
    hand.type('Points', '0.2 1')
    hand.press('Follow points')
    hand.wait('an error', lambda: hand.page.get_by_text('expected a time and 7').count())
    hand.press('Clear points')
    hand.wait('nothing', lambda: not hand.text('Points'))


def test_a_command_by_hand_moves_a_joint(page):
    """Move a slider; release it, and read the measured position."""
    hand, _ = page
    hand.tab('Joints')
    hand.wait('the sliders', lambda: hand.has('joint_3'))
    measured = hand.identity('joint_3')
    hand.choose('Command', 'position')
    hand.wait(
        'another slider', lambda: hand.has('joint_3') and hand.identity('joint_3') != measured
    )
    commanded = hand.identity('joint_3')
    hand.type('joint_3', 0.3)
    hand.tab('Run')
    hand.wait('who commands', lambda: hand.page.get_by_text('by hand').count())
    hand.tab('Joints')
    hand.choose('Command', 'measured')
    hand.wait(
        'another slider', lambda: hand.has('joint_3') and hand.identity('joint_3') != commanded
    )
    hand.wait('the joint', lambda: abs(float(hand.text('joint_3')) - 0.3) < 1e-2)


def test_refused_commands_are_seen(page):
    """Read the node's warning on the page."""
    hand, graph = page
    hand.tab('Run')
    graph.advertise(JointState, '/joint_commands').publish(
        JointState(name=['elbow'], effort=[1.0])
    )
    hand.wait('a warning', lambda: hand.page.get_by_text('elbow').count())


def test_every_control_has_a_test(page):
    """Find no control of the node's own untouched by the tests above."""
    hand, _ = page
    labels = set()
    for name in ('Run', 'Joints'):
        hand.tab(name)
        hand.page.wait_for_timeout(500)
        labels |= hand.labels()
    joints = {f'joint_{number}' for number in range(1, 8)}
    assert labels - COMMON - joints == {
        'Of robot',
        'Seconds per point',
        'Points',
        'Add point',
        'Follow points',
        'Clear points',
    }
    assert not hand.elsewhere(hand.page.url)
