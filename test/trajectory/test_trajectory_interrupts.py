"""A follower's call interrupted at any line finishes, or changes nothing."""

from interrupts import Interrupt
import numpy as np
import pytest

import sim_bridge as sb

STEP_NS = 1_000_000
LATER_NS = 500_000_000
# interrupted lines; the long suite has the lines between
STRIDE = 6


class Scene:
    """An arm whose follower drives joints of all controls; one run is followed, one waits."""

    def __init__(self):
        """Make the world and follow for one step."""
        self.world = sb.World(time_step=1e-3)
        self.robot = self.world.load_urdf('arm', collisions='none')
        for name, control in (('joint_1', 'position'), ('joint_2', 'velocity')):
            self.robot.joint(name).control = control
        gains = {'joint_3': sb.Gains(p=10.0, d=1.0, i=1.0)}
        self.follower = sb.TrajectoryFollower(self.robot, ['joint_6'], gains)
        self.runs = [
            self.follower.start(path('joint_1', 'joint_2', 'joint_3', 'joint_4'), 0),
            self.follower.start(path('joint_1', 'joint_5'), 0, LATER_NS),
        ]
        self.follower.drive(0, STEP_NS)
        self.world.step()

    def picture(self):
        """Return all values that a call must keep or change as a whole."""
        saved = self.follower.save(0)
        arrays = [each.tobytes() for each in saved if isinstance(each, np.ndarray)]
        return (
            self.world.state_hash(),
            [self.robot.joint(name).control for name in self.robot.joint_names],
            arrays,
            [(each.columns.tolist(), each.start_ns, each.spline is None) for each in saved.runs],
            [(each.outcome, each.words, each.spline is None) for each in self.runs],
        )

    def go_on(self):
        """Follow for some steps; return the hash of the state."""
        for number in range(3):
            self.follower.drive(LATER_NS + number * STEP_NS, STEP_NS)
            self.world.step()
        return self.world.state_hash()


def path(*joints):
    """Return a trajectory of two points."""
    n = len(joints)
    return sb.Trajectory(joints, [0.5, 1.0], [[0.1] * n, [0.2] * n])


CALLS = {
    'hold': lambda s: s.follower.hold(['joint_5', 'joint_7']),
    'start': lambda s: s.follower.start(path('joint_5'), STEP_NS, LATER_NS),
    'cancel': lambda s: s.follower.cancel(s.runs[0]),
    'cancel a waiting run': lambda s: s.follower.cancel(s.runs[1]),
    'drive': lambda s: s.follower.drive(STEP_NS, STEP_NS),
    'drive when another run begins': lambda s: s.follower.drive(LATER_NS, STEP_NS),
    'drive after the end': lambda s: s.follower.drive(3 * LATER_NS, STEP_NS),
}


@pytest.mark.parametrize(
    'first', [0, *(pytest.param(k, marks=pytest.mark.long) for k in range(1, STRIDE))]
)
@pytest.mark.parametrize('name', CALLS)
def test_interrupted_call_of_a_follower_finishes_or_does_nothing(name, first):
    """Interrupt a call at every STRIDE-th of its lines; a call without effect is repeated."""
    scene = Scene()
    before = scene.picture()
    with Interrupt() as watched:
        CALLS[name](scene)
    after, end = scene.picture(), scene.go_on()
    for line in watched.places()[first::STRIDE]:
        scene = Scene()
        with pytest.raises(KeyboardInterrupt), Interrupt(line) as interrupt:
            CALLS[name](scene)
        found = scene.picture()
        assert found in (before, after), f'{name}, interrupted at {interrupt.place}'
        if found == before:
            CALLS[name](scene)
            assert scene.picture() == after, f'{name} repeated after {interrupt.place}'
        assert scene.go_on() == end, f'{name}, interrupted at {interrupt.place}'
