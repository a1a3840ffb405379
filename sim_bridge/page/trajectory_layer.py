"""Trajectories by hand: taught or typed joint positions over time."""

from __future__ import annotations

from sim_bridge.page.channel import Frame
from sim_bridge.page.layer import Context, PlainLayer
from sim_bridge.page.poses import Poses
from sim_bridge.page.records import JointRecord, Structure
from sim_bridge.page.widgets import any_decimals, in_order, plain, set_value


class TrajectoryLayer(PlainLayer):
    """
    Layer for typing a trajectory, one point per line: time [s], joint positions [rad or m].

    'Add point' appends the present positions; 'Follow points' sends all points.
    """

    def __init__(self, context: Context):
        """Add the widgets."""
        super().__init__(context)
        gui = self.server.gui
        self._joints: dict[str, list[JointRecord]] = {}
        self._frame: Frame | None = None
        with context.joints:
            self._folder = gui.add_folder('Trajectory', expand_by_default=False, visible=False)
        with self._folder:
            self._robot = gui.add_dropdown('Of robot', ('—',))
            self._names = gui.add_markdown('')
            self._seconds = gui.add_number(
                'Seconds per point', 1.0, min=1e-3, step=0.1, hint='From the point before [s]'
            )
            self._points = gui.add_text(
                'Points',
                '',
                multiline=True,
                hint='A point a line: time [s], then the position of each joint [rad or m]',
            )
            add, follow = gui.add_button('Add point'), gui.add_button('Follow points')
            clear = gui.add_button('Clear points')
            self._error = gui.add_markdown('')
        any_decimals(self._seconds)
        self._robot.on_update(in_order(lambda _: self._list_joints()))
        add.on_click(in_order(lambda _: self._add()))
        follow.on_click(in_order(lambda _: self._follow()))
        clear.on_click(in_order(lambda _: self._clear()))

    def show(self, structure: Structure) -> None:
        """List the robots with joints."""
        self._joints = {}
        for joint in structure.joints:
            self._joints.setdefault(joint.robot, []).append(joint)
        robots = tuple(self._joints) or ('—',)
        before = self._robot.value
        self._robot.options = robots
        set_value(self._robot, before if before in robots else robots[0])
        self._folder.visible = 'trajectory' in structure.abilities and bool(self._joints)
        self._list_joints()

    def update(self, frame: Frame, poses: Poses) -> None:
        """Store the joint positions."""
        self._frame = frame

    def _list_joints(self) -> None:
        names = [joint.name for joint in self._joints.get(self._robot.value, ())]
        self._names.content = f'time, {plain(", ".join(names))}' if names else ''

    def _add(self) -> None:
        """Append the robot's present positions."""
        if self._frame is None:
            return
        lines = self._points.value.rstrip()
        try:
            last = float(lines.splitlines()[-1].replace(',', ' ').split()[0]) if lines else 0.0
        except ValueError:
            last = 0.0
        values = [
            last + self._seconds.value,
            *(float(self._frame.q[joint.row]) for joint in self._joints[self._robot.value]),
        ]
        line = ' '.join(f'{round(value, 6):g}' for value in values)
        set_value(self._points, f'{lines}\n{line}'.lstrip())

    def _clear(self) -> None:
        set_value(self._points, '')
        self._error.content = ''

    def _follow(self) -> None:
        """Send the points, or show the error in them."""
        joints = self._joints.get(self._robot.value, [])
        points: list[list[float]] = []
        for number, line in enumerate(self._points.value.splitlines(), 1):
            words = line.replace(',', ' ').split()
            if not words:
                continue
            try:
                values = [float(word) for word in words]
            except ValueError:
                values = []
            if len(values) != len(joints) + 1:
                self._error.content = (
                    f'❌ line {number}: {plain(line[:80])}: expected a time and '
                    f'{len(joints)} positions'
                )
                return
            points.append(values)
        self._error.content = ''
        self.ask(
            'trajectory',
            robot=self._robot.value,
            joints=[joint.name for joint in joints],
            times=[point[0] for point in points],
            positions=[point[1:] for point in points],
        )
