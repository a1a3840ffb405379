"""Camera sensors: their frustums, and the picture of one."""

from __future__ import annotations

import numpy as np
import viser

from sim_bridge.page.channel import Frame, NUMBERS
from sim_bridge.page.layer import Context, PlainLayer, ROOT
from sim_bridge.page.painter import Painter, Wish
from sim_bridge.page.poses import Poses, quaternions
from sim_bridge.page.records import CameraRecord, Notice, Structure
from sim_bridge.page.widgets import in_order, set_value

_NONE = 'none'
_TIME = NUMBERS.index('time')
_LINE = (40, 90, 220)
_BLANK = np.zeros((1, 1, 3), np.uint8)
_DEPTH = 0.25
_QUALITY = 90


class CamerasLayer(PlainLayer):
    """Layer for cameras: one is chosen, and shows its picture in the panel and in its frustum."""

    def __init__(self, context: Context):
        """Add the widgets, hidden until there are cameras."""
        super().__init__(context)
        gui = self.server.gui
        self._painter = Painter(lambda text: context.say(Notice('error', text)))
        self._cameras: dict[str, CameraRecord] = {}
        self._frustums: dict[str, viser.CameraFrustumHandle] = {}
        with context.show:
            self._folder = gui.add_folder('Cameras', visible=False)
        with self._folder:
            self._frustums_on = gui.add_checkbox('Frustums', True, hint='Of all cameras')
            self._chosen = gui.add_dropdown(
                'Camera', (_NONE,), hint='Its picture, here and in its frustum'
            )
            self._output = gui.add_dropdown(
                'Picture', ('image',), visible=False, hint='depth: white is near, black is nothing'
            )
            self._picture = gui.add_image(
                _BLANK, format='jpeg', jpeg_quality=_QUALITY, visible=False
            )
        self._chosen.on_update(in_order(lambda _: self._choose()))

    def show(self, structure: Structure) -> None:
        """List the cameras."""
        for node in self._frustums.values():
            node.remove()
        self._cameras = {f'{each.robot}/{each.name}': each for each in structure.cameras}
        self._links = np.array([each.link for each in structure.cameras], int)
        self._positions = np.array([each.position for each in structure.cameras]).reshape(-1, 3)
        self._rotations = np.array([each.rotation for each in structure.cameras]).reshape(-1, 3, 3)
        self._frustums = {
            name: self.server.scene.add_camera_frustum(
                f'{ROOT}/cameras/{number}',
                each.angle,
                each.aspect,
                scale=_DEPTH,
                thickness=1.5,
                thickness_units='screen',
                color=_LINE,
                format='jpeg',
                jpeg_quality=_QUALITY,
                cast_shadow=False,
                receive_shadow=False,
            )
            for number, (name, each) in enumerate(self._cameras.items())
        }
        self._painter.show(structure.scenery)
        self._folder.visible = bool(self._cameras)
        chosen = self._chosen.value
        self._chosen.options = (_NONE, *self._cameras)
        set_value(self._chosen, chosen if chosen in self._cameras else _NONE)
        self._choose()

    def update(self, frame: Frame, poses: Poses) -> None:
        """Move the frustums, and show the newest picture."""
        if not self._cameras:
            return
        places = poses.points(self._links, self._positions)
        turns = quaternions(poses.turned(self._links, self._rotations))
        chosen = self._chosen.value
        for (name, node), place, turn in zip(self._frustums.items(), places, turns, strict=True):
            is_visible = self._frustums_on.value or name == chosen
            if node.visible != is_visible:
                node.visible = is_visible
            if is_visible and not (
                np.array_equal(node.position, place) and np.array_equal(node.wxyz, turn)
            ):
                node.position, node.wxyz = place, turn
        found = self._painter.take()
        if chosen not in self._cameras:
            return
        camera = self._cameras[chosen]
        if found is not None and found[0].camera == (camera.robot, camera.name):
            self._picture.image = found[1]
            self._frustums[chosen].image = found[1]
            if not self._picture.visible:
                self._picture.visible = True
        if self.server.get_clients():
            poses_now = np.column_stack([poses.rotations.reshape(-1, 9), poses.positions])
            wish = Wish(
                (camera.robot, camera.name),
                self._output.value,
                poses_now,
                float(frame.numbers[_TIME]),
            )
            self._painter.wish(wish)

    def _choose(self) -> None:
        """Show the widgets for the chosen camera, and no old picture."""
        camera = self._cameras.get(self._chosen.value)
        for name, node in self._frustums.items():
            if name != self._chosen.value:
                node.image = None
        self._picture.visible = False
        self._output.visible = camera is not None and len(camera.outputs) > 1
        if camera is not None:
            self._output.options = camera.outputs
