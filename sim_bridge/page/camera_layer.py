"""Camera, light, grid and axes; followed link, pictures."""

from __future__ import annotations

from datetime import datetime
import io
from typing import Any

import numpy as np
import viser

from sim_bridge.page.channel import Frame
from sim_bridge.page.grid import add_grid, fit_grid
from sim_bridge.page.layer import Context, PlainLayer, ROOT
from sim_bridge.page.poses import Poses
from sim_bridge.page.records import Mesh, Notice, Structure
from sim_bridge.page.widgets import in_order, set_value

_NOTHING = 'nothing'
_DIRECTION = np.array([0.75, -0.55, 0.4])  # from the target to the camera
_LEAST_SIZE, _MOST_SIZE = 0.3, 30.0  # limits for the first view's size [m]
_PICTURE_TIMEOUT = 60.0  # s
_MOST_PIXELS = 4096
_LAST = 1e6  # order: after other layers' widgets in the tab


class CameraLayer(PlainLayer):
    """Layer for the view: light, grid, world axes, the link followed by the camera, pictures."""

    def __init__(self, context: Context):
        """Add the widgets and the light."""
        super().__init__(context)
        gui, scene = self.server.gui, self.server.scene
        self._root, self._say = context.root, context.say
        self._structure: Structure | None = None
        self._is_framed = False
        scene.set_up_direction('+z')
        scene.configure_default_lights(cast_shadow=False)
        self._grid = add_grid(self.server, f'{ROOT}/grid')
        self._axes = scene.add_frame(
            f'{ROOT}/axes_of_world', axes_length=0.3, axes_radius=0.006, visible=False
        )
        with context.show:
            self._followed = gui.add_dropdown('Follow', (_NOTHING,))
            save = gui.add_button('Save picture', hint='As PNG, as you see it')
            with gui.add_folder('World', expand_by_default=False, order=_LAST):
                self._grid_on = gui.add_checkbox('Grid', True)
                self._axes_on = gui.add_checkbox('Axes of the world', False)
        self._grid_on.on_update(in_order(lambda _: self._show(self._grid, self._grid_on)))
        self._axes_on.on_update(in_order(lambda _: self._show(self._axes, self._axes_on)))
        save.on_click(self._save)

    def show(self, structure: Structure) -> None:
        """List the links."""
        self._structure = structure
        self._names = [f'{link.robot}/{link.name}' for link in structure.links]
        options = tuple(
            name
            for name, link in zip(self._names, structure.links, strict=True)
            if link.motion != 'static'
        )
        followed = self._followed.value
        self._followed.options = (_NOTHING, *options)
        set_value(self._followed, followed if followed in options else _NOTHING)

    def update(self, frame: Frame, poses: Poses) -> None:
        """Choose the view at the first frame; move the world if a link is followed."""
        if self._structure is None:
            return
        if not self._is_framed:
            self._is_framed = True
            self._look(self._structure, poses)
        position = np.zeros(3)
        if self._followed.value in self._names:
            position = -poses.positions[self._names.index(self._followed.value)]
        if (position != self._root.position).any():
            self._root.position = position

    def _look(self, structure: Structure, poses: Poses) -> None:
        """Set the view for new clients and for present ones."""
        corners = []
        for part in structure.parts:
            mesh, link = structure.meshes[part.mesh], part.link
            R, p = poses.rotations[link], poses.positions[link]
            own = np.zeros((1, 3))
            if isinstance(mesh, Mesh):
                own = np.array([mesh.vertices.min(0), mesh.vertices.max(0)]) * part.scale
            if np.ptp(own, axis=0).max() <= _MOST_SIZE:
                corners.append(p + (part.position + own @ part.rotation.T) @ R.T)
        points = np.concatenate(corners or [np.zeros((1, 3))])
        low, high = points.min(axis=0), points.max(axis=0)
        size = float(np.clip(np.linalg.norm(high - low), _LEAST_SIZE, _MOST_SIZE))
        middle = 0.5 * (low + high)
        eye = middle + 0.95 * size * _DIRECTION
        fit_grid(self._grid, size)
        camera = self.server.initial_camera
        camera.position, camera.look_at = tuple(eye), tuple(middle)
        for client in self.server.get_clients().values():
            client.camera.position, client.camera.look_at = eye, middle

    def _save(self, event: viser.GuiEvent[Any]) -> None:
        """Send a client's view as a file; runs on a viser thread."""
        client = event.client
        if client is None:
            return
        from PIL import Image

        camera = client.camera
        height = min(camera.image_height, _MOST_PIXELS)
        width = min(camera.image_width, _MOST_PIXELS)
        try:
            pixels = client.get_render(
                height, width, transport_format='png', timeout=_PICTURE_TIMEOUT
            )
        except (TimeoutError, RuntimeError) as err:
            self._say(Notice('error', f'no picture: {err}'))
            return
        image = Image.fromarray(pixels)
        paper = Image.new('RGB', image.size, 'white')
        paper.paste(image, mask=image.getchannel('A') if image.mode == 'RGBA' else None)
        content = io.BytesIO()
        paper.save(content, 'PNG', optimize=True)
        name = f'sim_bridge_{datetime.now():%Y%m%d_%H%M%S}.png'
        client.send_file_download(name, content.getvalue(), save_immediately=True)

    def _show(self, node: Any, widget: Any) -> None:
        node.visible = bool(widget.value)
