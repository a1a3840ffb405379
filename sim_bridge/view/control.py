"""Page requests to a world in a program."""

from __future__ import annotations

from collections.abc import Callable

from sim_bridge.foundation.errors import UnknownNameError
from sim_bridge.foundation.validation import number_from, whole_number
from sim_bridge.page.records import Request
from sim_bridge.simulation.snapshots import Snapshot
from sim_bridge.view.drag import Drag
from sim_bridge.view.pushes import Pushes
from sim_bridge.world.world import World

_LEAST_SPEED, _MOST_SPEED = 1e-6, 1000.0


class ScriptControl:
    """
    Executes the page's requests.

    abilities: supported request names. is_paused; speed: simulated time per real time, 0
    for unlimited. snapshots: by the names given on the page.
    """

    def __init__(self, world: World, speed: float, is_paused: bool):
        """Start at a speed, or paused."""
        self._world = world
        self.speed, self.is_paused = speed, is_paused
        self.snapshots: dict[str, Snapshot] = {}
        self._steps = 0
        self._drag, self._pushes = Drag(world), Pushes(world)
        self._calls: dict[str, Callable[..., None]] = {
            'pause': self._pause,
            'play': self._play,
            'step': self._step,
            'speed': self._set_speed,
            'reset': self._reset,
            'save': self._save,
            'restore': self._restore,
            'forget': self._forget,
            'command': self._command,
            'drag': self._pull,
            'drop': self._drag.drop,
            'push': self._push_link,
        }
        self.abilities = frozenset(self._calls)

    def obey(self, request: Request) -> None:
        """Execute a request. Raises SimBridgeError if it is impossible."""
        call = self._calls.get(request.name)
        if call is None:
            raise UnknownNameError('request', request.name, self._calls)
        call(**request.values)

    def may_step(self) -> bool:
        """Return whether the simulation may take a step; uses up a requested single step."""
        if not self.is_paused:
            return True
        self._steps -= 1
        if self._steps >= 0:
            return True
        self._steps = 0
        return False

    def push(self) -> None:
        """Apply the mouse drag and all pushes to the next step."""
        self._drag.push()
        if self._pushes:
            self._pushes.apply()

    def drop(self) -> None:
        """End the mouse drag and all pushes."""
        self._drag.drop()
        self._pushes.clear()

    def _pause(self) -> None:
        self.is_paused, self._steps = True, 0

    def _play(self) -> None:
        self.is_paused = False

    def _step(self, steps: int) -> None:
        self.is_paused = True
        self._steps += whole_number('steps', steps)

    def _set_speed(self, factor: float) -> None:
        self.speed = speed_from(factor)

    def _reset(self) -> None:
        self.drop()
        self._world.reset(time=True)

    def _save(self, name: str) -> None:
        self.snapshots[name] = self._world.save()

    def _restore(self, name: str) -> None:
        self.drop()
        self._world.restore(self._snapshot(name))

    def _forget(self, name: str) -> None:
        self._snapshot(name)
        del self.snapshots[name]

    def _snapshot(self, name: str) -> Snapshot:
        if name not in self.snapshots:
            raise UnknownNameError('snapshot', name, self.snapshots)
        return self.snapshots[name]

    def _command(self, robot: str, joint: str, control: str, value: float) -> None:
        """Set a joint's control, and its target or effort."""
        axis = self._world.robots[robot].joint(joint).axes[0]
        if axis.control != control:
            axis.control = control
        if control == 'effort':
            axis.u = value
        elif control == 'velocity':
            axis.target_velocity = value
        else:
            axis.target_position = value

    def _pull(self, robot: str, link: str, point: list[float] | None, target: list[float]) -> None:
        """
        Drag a link's point to a target in the world.

        point: in the link's frame [m]; None: the point of the last call.
        """
        self._drag.pull(self._world.robots[robot].link(link), point, target)

    def _push_link(self, robot: str, link: str, force: list[float], seconds: float) -> None:
        """Push a link with a force [N] for some simulated time [s]."""
        self._pushes.add(self._world.robots[robot].link(link), force, seconds)


def speed_from(value: object) -> float:
    """Return a checked speed; raises InvalidValueError."""
    accepted = '0 or a number from 0.000001 to 1000'
    speed = number_from('speed', value, 0.0, _MOST_SPEED, '', accepted)
    return number_from('speed', value, _LEAST_SPEED, _MOST_SPEED, '', accepted) if speed else 0.0
