"""Mouse drag: a spring between a link point and the pointer on the page."""

from __future__ import annotations

import numpy as np

from sim_bridge.foundation.arrays import FloatArray, Vector
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import finite_vector
from sim_bridge.robots.body_type import motion_of_link
from sim_bridge.robots.link import Link
from sim_bridge.world.world import World

# natural frequency [rad/s], damping ratio, greatest dragged mass acceleration [m/s²]
_FREQUENCY, _RATIO, _MOST = 12.0, 0.7, 300.0
# stability bounds for an explicit spring and damper, relative to the least mass at the point
_SPRING_BOUND, _DAMPER_BOUND = 0.1, 0.2


class Drag:
    """
    Mouse drag from a link point to a target.

    The stiffness follows from the robot's moving mass, limited by the stability of an explicit
    spring at this time step. The effective mass at a point is at least the body's alone,
    which gives the limit.
    """

    def __init__(self, world: World):
        """Start without a dragged link."""
        self._world = world
        self._link: Link | None = None
        self._local = self._target = np.zeros(3)
        self._mass = self._least = 0.0

    @property
    def link(self) -> Link | None:
        """The dragged link."""
        return self._link

    def pull(self, link: Link, local: Vector | None, target: Vector) -> None:
        """
        Drag a point, in the link's frame [m], to a target in the world [m].

        local: None for the present point; ignored if another link is dragged. Raises
        InvalidValueError for an immovable link, and for numbers that are not finite.
        """
        if local is None and link is not self._link:
            return
        target = finite_vector('target', target, 3, 'drag')
        if local is not None:
            local = finite_vector('point', local, 3, 'drag')
            simulation = self._world.simulation
            masses = [
                each.m
                for each in link.robot.links
                if motion_of_link(simulation, each.slot) == 'dynamic'
            ]
            least = _least_mass(link, local)
            if motion_of_link(simulation, link.slot) != 'dynamic' or not least:
                raise InvalidValueError(
                    'link',
                    link.name,
                    'a link that can move, with mass on it or fixed to it',
                    f'robot {link.robot.name!r}',
                )
            self._link, self._local, self._mass, self._least = link, local, sum(masses), least
        self._target = target

    def drop(self) -> None:
        """End the drag."""
        self._link = None

    def force(self) -> tuple[FloatArray, FloatArray]:
        """Return the force on the point now [N], (3,), and the point [m], (3,); world."""
        link = self._link
        assert link is not None
        point = link.point_to_world(self._local)
        velocity = link.velocity_at(rel_point=self._local)
        step = self._world.time_step
        mass, least = self._mass, self._least
        stiffness = min(mass * _FREQUENCY**2, _SPRING_BOUND * least / step**2)
        damping = min(2.0 * _RATIO * np.sqrt(stiffness * mass), _DAMPER_BOUND * least / step)
        force = stiffness * (self._target - point) - damping * velocity
        size = float(np.linalg.norm(force))
        return force * min(1.0, _MOST * mass / max(size, 1e-300)), point

    def push(self) -> None:
        """Apply the drag force, if any, to the next step."""
        link = self._link
        if link is None:
            return
        if link.slot.robot.is_removed:
            self.drop()
            return
        link.add_force(*self.force())


def _least_mass(link: Link, local: FloatArray) -> float:
    """Return the least effective mass of a link's body at a point, over all directions [kg]."""
    slot = link.slot
    mass, *center, xx, xy, xz, yy, yz, zz = slot.robot.part.model.inertia[slot.body].tolist()
    if not mass:
        return 0.0
    place = slot.placement
    arm = np.linalg.norm(place.rotation @ local + place.position - center)
    least = float(np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])[0])
    return 1.0 / (1.0 / mass + float(arm) ** 2 / max(least, 1e-300))
