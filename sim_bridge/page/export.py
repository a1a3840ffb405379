"""Export of a tape as one self-contained page with the viewer."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import redirect_stdout
from html import escape
import io

from sim_bridge.page.channel import empty_frame
from sim_bridge.page.forces_layer import ForcesLayer
from sim_bridge.page.grid import add_grid, fit_grid
from sim_bridge.page.guard import Guard
from sim_bridge.page.layer import Context, ROOT
from sim_bridge.page.poses import Poses
from sim_bridge.page.records import Notice
from sim_bridge.page.server import open_server
from sim_bridge.page.shapes_layer import ShapesLayer
from sim_bridge.page.tape import AWAY, extent, fill, Tape

_MARK_S = 1.0  # how long a mark is shown
_MOST_SHOWN = 3  # marks at once
_CLOSER = 0.6  # factor for `AWAY`, which fits pictures: the page's angle of view is wider


def html(
    tape: Tape,
    shows_forces: bool = False,
    progress: Callable[[float], None] = lambda time: None,
    say: Callable[[Notice], None] = lambda notice: None,
) -> str:
    """
    Return a page that plays a tape, with pause, speed, a seek bar, and labels at marks.

    shows_forces: whether contacts and their forces are drawn, permanently: the page has no
    switches. progress: called with each frame's time [s]. say: called with warnings about
    missing parts, from any thread.
    """
    server = open_server('sim_bridge', 0, Guard())
    try:
        tabs = server.gui.add_tab_group()
        root = server.scene.add_frame(ROOT, show_axes=False)
        context = Context(
            server,
            lambda *_, **__: None,
            say,
            root,
            *(tabs.add_tab(name) for name in ('Run', 'Show', 'Joints', 'Plots')),
        )
        shapes = ShapesLayer(context)
        forces = ForcesLayer(context)
        if shows_forces:
            forces.show_contacts()
        layers = [shapes, forces]
        center, size = extent(tape)
        server.initial_camera.look_at = center
        server.initial_camera.position = center + _CLOSER * size * AWAY
        server.scene.set_up_direction('+z')
        server.scene.configure_default_lights(cast_shadow=False)
        fit_grid(add_grid(server, f'{ROOT}/grid'), size)
        label = server.scene.add_label(
            f'{ROOT}/mark', '', position=(*center[:2], center[2] + 0.6 * size), visible=False
        )
        recording = server.get_scene_serializer()
        before, shown = tape.begin, ''
        for take in tape.takes:
            frame = empty_frame(take.sizes)
            with server.atomic():
                for layer in layers:
                    layer.show(take.structure)
            shapes.wait()
            for moment in take.moments:
                recording.insert_sleep(max(moment.time - before, 0.0))
                before = moment.time
                fill(frame, moment)
                poses = Poses(frame.poses)
                text = '\n'.join(
                    f'{mark.kind}: {mark.text}'
                    for mark in tape.marks
                    if mark.time <= moment.time < mark.time + _MARK_S
                )
                text = '\n'.join(text.split('\n')[-_MOST_SHOWN:])
                with server.atomic():
                    for layer in layers:
                        layer.update(frame, poses)
                    if text != shown:
                        label.text, label.visible, shown = text, bool(text), text
                progress(moment.time)
        page = recording.as_html()
        return page.replace('<title>Viser</title>', f'<title>{escape(tape.title)}</title>', 1)
    finally:
        with redirect_stdout(io.StringIO()):  # the server prints a message
            server.stop()
