"""Frame fixed to a link, for motion measurements at a point; after AGX's ObserverFrame."""

from __future__ import annotations

from typing import Any, Final

from sim_bridge.foundation.arrays import FloatArray, Vector
from sim_bridge.foundation.attributes import ReadOnly
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.rotation import matrix_from_quaternion
from sim_bridge.foundation.validation import checked_pose
from sim_bridge.robots.link import Link
from sim_bridge.robots.moving_frame import MovingFrame
from sim_bridge.robots.robot import Robot


class ObserverFrame(MovingFrame):
    """
    Massless frame fixed to a link, for measurements only; after AGX's ObserverFrame.

    p, R, v, w, dv and dw are the frame origin's pose and motion in the world, in world axes,
    computed for the current state at each access. The world does not list observer frames. A
    copied or pickled world has only the observer frames copied or pickled along with it.
    """

    __slots__ = ('link', 'name', 'orientation', 'position')

    def __init__(
        self,
        link: Link | Robot,
        position: Vector = (0.0, 0.0, 0.0),
        orientation: Vector = (0.0, 0.0, 0.0, 1.0),
        name: str = 'observer',
    ):
        """
        Attach a frame to a link, or to a body (a robot with one link).

        position: (3,) origin in the link frame [m]. orientation: (4,) quaternion x y z w in the
        link frame. name: for messages. Raises InvalidValueError for other objects and for an
        invalid pose.
        """
        if isinstance(link, Robot) and len(link.links) == 1:
            link = link.root_link
        if not isinstance(link, Link):
            raise InvalidValueError('link', link, 'a link, or a robot of one link')
        if not isinstance(name, str):
            raise InvalidValueError('name', name, 'a text')
        place, quaternion = checked_pose(position, orientation, f'observer frame {name!r}')
        for each in (place, quaternion):
            each.flags.writeable = False
        self.link: Final = link
        self.name: Final = name
        self.position: Final = place
        self.orientation: Final = quaternion

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the constructor arguments for pickles and copies: link, pose and name."""
        return ObserverFrame, (self.link, self.position, self.orientation, self.name)

    def __repr__(self) -> str:
        """Show the name and the link."""
        return (
            f'<ObserverFrame {self.name!r} on link {self.link.name!r} of {self.link.robot.name!r}>'
        )

    @property
    def p(self) -> FloatArray:
        """(3,) frame origin [m], world."""
        return self.link.point_to_world(self.position)

    @property
    def R(self) -> FloatArray:
        """(3, 3) frame rotation; takes vectors in its axes to world axes."""
        return self.link.R @ matrix_from_quaternion(self.orientation)

    @property
    def v(self) -> FloatArray:
        """(3,) frame origin's velocity [m/s], world axes."""
        return self.link.velocity_at(rel_point=self.position)

    @property
    def dv(self) -> FloatArray:
        """(3,) frame origin's acceleration [m/s²], world axes."""
        return self.link.acceleration_at(rel_point=self.position)

    w = ReadOnly[FloatArray]('link.w', '(3,) angular velocity [rad/s], world axes.')
    dw = ReadOnly[FloatArray]('link.dw', '(3,) angular acceleration [rad/s²], world axes.')

    @property
    def _place(self) -> str:
        return f'observer frame {self.name!r}'
