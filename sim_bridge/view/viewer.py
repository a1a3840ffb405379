"""Live page of a world in a program."""

from __future__ import annotations

from html import escape
import time
from types import TracebackType
import weakref

from sim_bridge.foundation.attributes import DeclaredAttributes
from sim_bridge.foundation.errors import SimBridgeError, StateError
from sim_bridge.foundation.validation import instance_of, truth, whole_number
from sim_bridge.page.records import Notice
from sim_bridge.view.browser import open_browser
from sim_bridge.view.control import ScriptControl, speed_from
from sim_bridge.view.feed import Feed, PageProcess
from sim_bridge.view.notebook import framed
from sim_bridge.world.world import World

_PERIOD = 1.0 / 60.0  # between frames [s]
_PAUSE = 0.01  # between checks for page requests, while paused [s]
_LEAST_SLEEP = 1e-3  # shorter sleeps take too long [s]


class Viewer(DeclaredAttributes):
    """
    Live page of a world, until `close` or the world's end; created by `World.view`.

    While it is open, `World.step` runs at the speed set on the page, and waits while the page is
    paused. A context manager.
    """

    __slots__ = ('_control', '_deadline', '_due', '_feed', '_page', '_snapshots', '_world')

    def __init__(
        self,
        world: World,
        *,
        speed: float = 1.0,
        paused: bool = False,
        browser: bool = True,
        port: int = 0,
        title: str = 'sim_bridge',
    ):
        """
        Open the page. Arguments: see `World.view`.

        Raises StateError if it cannot be opened or the world already has one, MissingPackageError
        without viser.
        """
        instance_of('world', world, World, 'a World')
        watcher = world.simulation.runner.hooks.watcher
        if isinstance(watcher, Viewer) and watcher.is_open:
            raise StateError(f'this world already has a page: {watcher!r}')
        self._world = world
        self._control = ScriptControl(world, speed_from(speed), truth('paused', paused))
        self._snapshots: tuple[str, ...] = ()
        self._page = PageProcess(whole_number('port', port))
        # also closes a page that failed to open, and one whose world was garbage-collected
        weakref.finalize(self, self._page.close)
        self._feed = Feed(self._page, world, title, self._control.abilities)
        self._due = self._deadline = 0.0
        self._page.wait()
        if browser:
            open_browser(self.url)
        self.sync()
        # last: steps would publish to a page whose opening was interrupted
        world.simulation.runner.hooks.watch(self)

    def __repr__(self) -> str:
        """Show the address."""
        return f'<Viewer of {self.url}>' if self.is_open else '<Viewer, closed>'

    def _repr_html_(self) -> str:
        """
        Return HTML with the page, for a notebook server on this machine, and a link to it.

        The page opens for everybody who reads the notebook while it is open, on this machine only.
        """
        return framed(self.url) if self.is_open else escape(repr(self))

    def __enter__(self) -> Viewer:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the page."""
        self.close()

    @property
    def url(self) -> str:
        """Page address on this machine, with its access token."""
        return self._page.url

    @property
    def visitor_url(self) -> str:
        """Address with read-only access."""
        return self._page.visitor_url

    @property
    def is_open(self) -> bool:
        """Whether the page's process runs."""
        return self._page.is_alive

    @property
    def is_paused(self) -> bool:
        """Whether `World.step` waits for the page."""
        return self._control.is_paused

    @property
    def speed(self) -> float:
        """Simulated time per real time, 0 for unlimited."""
        return self._control.speed

    def sync(self) -> None:
        """
        Show the present state, and execute the page's requests; `World.step` calls this.

        Raises StateError in a forked child process; steps there go on without a page.
        """
        self._page.check_own()
        control = self._control
        for request in self._page.requests():
            try:
                control.obey(request)
            except SimBridgeError as err:
                self._page.tell(Notice('error', str(err)))
            except LookupError as err:
                # the request names a removed object
                self._page.tell(Notice('error', f'{request.name}: there is no {err}'))
        if self._snapshots != (names := tuple(control.snapshots)):
            self._snapshots = names
            self._page.tell(Notice('snapshots', '', names))
        self._feed.publish(
            control.is_paused, control.speed, self._world.simulation.cache.last_applied.pushes()
        )

    def wait(self) -> None:
        """Show the world without stepping until the page is closed or the program interrupted."""
        while self.is_open:
            self.sync()
            time.sleep(_PERIOD)

    def close(self) -> None:
        """Close the page; the world continues without it."""
        hooks = self._world.simulation.runner.hooks
        if hooks.watcher is self:
            hooks.watch(None)
        self._page.close()

    def failed(self, error: Exception) -> None:
        """Show an error raised by a step, and the world's present state."""
        if not self.is_open:
            return
        self._page.tell(Notice('error', f'{type(error).__name__}: {error}'))
        self._control.drop()
        self.sync()

    def stepped(self) -> None:
        """Show a due frame, keep the set speed, and wait while paused."""
        control, now = self._control, time.monotonic()
        if now >= self._due:
            self._due = now + _PERIOD
            if not self.is_open:
                # a closed page ends the view
                self.close()
                return
            self.sync()
        while not control.may_step() and self.is_open:
            self.sync()
            time.sleep(_PAUSE)
        control.push()
        if not control.speed:
            return
        self._deadline += self._world.time_step / control.speed
        left = self._deadline - time.monotonic()
        if left < -_PERIOD:
            # lost time is not made up
            self._deadline = time.monotonic()
        elif left > _LEAST_SLEEP:
            time.sleep(left)
