"""Camera pictures for the worlds in a batch, rendered on all its threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sim_bridge.batch.rows import Rows
from sim_bridge.engine.data.geometry import Geometry
from sim_bridge.foundation.arrays import FloatArray, IntArray
from sim_bridge.foundation.errors import InvalidValueError, StateError
from sim_bridge.foundation.names import counted
from sim_bridge.sensors.camera_pictures import (
    check_output,
    draw_at,
    expose,
    made_renderer,
    picture_of,
)
from sim_bridge.sensors.cameras import CameraSensor
from sim_bridge.sight.bands import Band, Bands
from sim_bridge.sight.renderer import Renderer
from sim_bridge.sight.scenery import Scenery
from sim_bridge.world.world import World

_SHOWN = 5


class Sceneries:
    """
    Visuals by world.

    Worlds with equal shapes share one scenery.
    """

    def __init__(self, rows: Rows, world: Callable[[int], World]) -> None:
        """Start without arrays. world: returns a copy by number."""
        self._rows, self._world = rows, world
        self._known: dict[tuple[bytes, ...], Scenery] = {}

    def of(self, which: IntArray) -> list[Scenery]:
        """Return k sceneries for world numbers (k,)."""
        varied = [
            rows
            for name, rows in self._rows.all.items()
            if name.startswith(f'{Geometry.__name__}.')
        ]
        keys = [tuple(rows[k].tobytes() for rows in varied) for k in which.tolist()]
        known = {key: self._known[key] for key in keys if key in self._known}
        for key, k in zip(keys, which.tolist(), strict=True):
            if key not in known:
                known[key] = self._world(k).scenery
        # old parameters take no memory
        self._known = known
        return [known[key] for key in keys]


class BatchPictures:
    """One camera's pictures in all worlds, rendered on several threads with the same bits."""

    def __init__(
        self,
        device: CameraSensor,
        threads: int,
        sceneries: Sceneries,
        seeds: Sequence[int],
        steps: IntArray,
    ) -> None:
        """
        Take one world's camera.

        threads: at least 1, with the calling one. seeds: noise seeds by world. steps: (n,) present
        step counts, a view.
        """
        self._name, self._settings = device.name, device.settings
        self._optics, self._site = device.optics, device.site
        self._light = device.link.robot.world.surroundings
        self._key_for, self._time_step = device.key_for, device.time_step
        self._seeds, self._steps = seeds, steps
        self._threads, self._sceneries = threads, sceneries
        self._renderers: list[Renderer | None] = [None] * threads

    def check_sampled(self, unsampled: IntArray) -> None:
        """Raise StateError if there are worlds without a sample; unsampled: their numbers."""
        if len(unsampled):
            shown = ', '.join(map(str, unsampled[:_SHOWN].tolist()))
            raise StateError(
                f'camera {self._name!r} has no sample yet in {counted(len(unsampled), "world")}: '
                f'{shown}{", …" if len(unsampled) > _SHOWN else ""}; step the batch'
            )

    def render(
        self, output: str, worlds: IntArray, frames: FloatArray, steps: IntArray | None = None
    ) -> np.ndarray:
        """
        Return an output (k, height, width, …), for each world as from `CameraSensor`.

        worlds: (k,) numbers. frames: (n, sites, 18) as in the cameras' samples. steps: (n,) their
        step counts, for the noise; None for the present ones. Raises UnknownNameError for an
        unknown output, InvalidValueError without worlds.
        """
        check_output(self._settings, output, self._name)
        if not len(worlds):
            raise InvalidValueError('where', worlds, 'a mask that selects at least one world')
        found: list[np.ndarray | None] = [None] * len(worlds)
        sceneries = self._sceneries.of(worlds)
        at = self._steps if steps is None else steps

        def work(thread: int, band: Band) -> None:
            for place in range(*band):
                own = frames[worlds[place]]
                renderer = self._renderer(thread, sceneries[place])
                world = int(worlds[place])
                draw = draw_at(self._key_for(self._seeds[world]), int(at[world]), self._time_step)
                expose(renderer, own, self._site, draw)
                found[place] = picture_of(renderer, output, self._settings)

        bands = Bands(len(worlds), self._threads, 1)
        try:
            bands.run(work)
        finally:
            bands.close()
        return np.stack(found)  # type: ignore[arg-type]

    def _renderer(self, thread: int, scenery: Scenery) -> Renderer:
        """Return a thread's renderer for a scenery."""
        renderer = self._renderers[thread]
        if renderer is None or renderer.scenery is not scenery:
            renderer = made_renderer(scenery, self._light, self._optics, self._settings)
            self._renderers[thread] = renderer
        return renderer
