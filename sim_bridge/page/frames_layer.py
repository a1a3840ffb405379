"""Link frames, centres of mass, inertia boxes, joint axes, constraint joints."""

from __future__ import annotations

import numpy as np
import viser

from sim_bridge.page.channel import Frame
from sim_bridge.page.layer import Context, PlainLayer, ROOT
from sim_bridge.page.poses import Poses, quaternions
from sim_bridge.page.records import Structure
from sim_bridge.page.widgets import any_decimals, in_order, update_node

_BOX = np.array([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
_FACES = np.array(
    [
        (0, 1, 3),
        (0, 3, 2),
        (4, 6, 7),
        (4, 7, 5),
        (0, 4, 5),
        (0, 5, 1),
        (2, 3, 7),
        (2, 7, 6),
        (0, 2, 6),
        (0, 6, 4),
        (1, 5, 7),
        (1, 7, 3),
    ]
)
_INERTIA, _CENTER, _AXIS = (120, 60, 200), (250, 200, 0), (0, 140, 200)
_LOOP = (210, 40, 170)


class FramesLayer(PlainLayer):
    """Drawn marks for invisible quantities: link frames, mass centres, inertias, joints."""

    def __init__(self, context: Context):
        """Add the widgets."""
        super().__init__(context)
        gui = self.server.gui
        with context.show, gui.add_folder('Frames and masses', expand_by_default=False):
            self._frames_on = gui.add_checkbox('Frames of links', False)
            self._centers_on = gui.add_checkbox('Centres of mass', False)
            self._boxes_on = gui.add_checkbox('Boxes of inertia', False)
            self._axes_on = gui.add_checkbox('Axes of joints', False)
            self._loops_on = gui.add_checkbox('Loop joints', False)
            self._size = gui.add_number('Size of marks', 0.1, min=0.001, step=0.01, hint='[m]')
        any_decimals(self._size)
        for widget in (
            self._frames_on,
            self._centers_on,
            self._boxes_on,
            self._axes_on,
            self._loops_on,
            self._size,
        ):
            widget.on_update(in_order(lambda _: self._renew()))
        self._is_stale = True
        self._nodes: list[viser.SceneNodeHandle] = []
        self._structure: Structure | None = None

    def show(self, structure: Structure) -> None:
        """Rebuild the marks with the next frame."""
        self._structure, self._is_stale = structure, True

    def update(self, frame: Frame, poses: Poses) -> None:
        """Move the marks."""
        structure = self._structure
        if structure is None:
            return
        if self._is_stale:
            self._is_stale = False
            self._make(structure)
        self._move(structure, poses)

    def _renew(self) -> None:
        self._is_stale = True

    def _make(self, structure: Structure) -> None:
        """Add the nodes that are switched on."""
        for node in self._nodes:
            node.remove()
        self._nodes = []
        scene, size = self.server.scene, self._size.value
        self._links = np.arange(len(structure.links))
        self._heavy = np.array([k for k, link in enumerate(structure.links) if link.mass], int)
        self._centers = np.array([structure.links[k].center for k in self._heavy]).reshape(-1, 3)
        self._principal = np.array(
            [structure.links[k].principal_axes for k in self._heavy]
        ).reshape(-1, 3, 3)
        self._children = np.array([joint.link for joint in structure.joints], int)
        self._axes = np.array([joint.axis for joint in structure.joints]).reshape(-1, 3)

        def still(n: int) -> np.ndarray:
            return np.tile((1.0, 0.0, 0.0, 0.0), (n, 1))

        self._frames = self._boxes = self._marks = self._arrows = self._loops = None
        if self._frames_on.value:
            n = len(self._links)
            self._frames = scene.add_batched_axes(
                f'{ROOT}/frames',
                still(n),
                np.zeros((n, 3)),
                axes_length=size,
                axes_radius=0.03 * size,
            )
            self._nodes.append(self._frames)
        if self._boxes_on.value and len(self._heavy):
            n = len(self._heavy)
            self._boxes = scene.add_batched_meshes_simple(
                f'{ROOT}/inertia',
                _BOX.astype(np.float32),
                _FACES.astype(np.uint32),
                still(n),
                np.zeros((n, 3)),
                batched_scales=np.array([structure.links[k].box for k in self._heavy]),
                batched_colors=_INERTIA,
                opacity=0.4,
                lod='off',
                cast_shadow=False,
            )
            self._nodes.append(self._boxes)
        if self._centers_on.value and len(self._heavy):
            self._marks = scene.add_point_cloud(
                f'{ROOT}/centers',
                np.zeros((len(self._heavy), 3)),
                _CENTER,
                point_size=0.3 * size,
                point_shape='circle',
                precision='float32',
            )
            self._nodes.append(self._marks)
        if self._axes_on.value and len(self._children):
            self._arrows = scene.add_arrows(
                f'{ROOT}/axes',
                np.zeros((len(self._children), 2, 3)),
                _AXIS,
                shaft_radius=0.04 * size,
                head_radius=0.1 * size,
                head_length=0.25 * size,
            )
            self._nodes.append(self._arrows)
        if self._loops_on.value and structure.loops:
            self._loops = scene.add_point_cloud(
                f'{ROOT}/loops',
                np.zeros((2 * len(structure.loops), 3)),
                _LOOP,
                point_size=0.2 * size,
                point_shape='diamond',
                precision='float32',
            )
            self._gaps = scene.add_line_segments(
                f'{ROOT}/gaps',
                np.zeros((len(structure.loops), 2, 3)),
                _LOOP,
                thickness=3.0,
                thickness_units='screen',
            )
            self._nodes += [self._loops, self._gaps]

    def _move(self, structure: Structure, poses: Poses) -> None:
        if self._frames is not None:
            self._send(
                self._frames,
                batched_positions=poses.positions,
                batched_wxyzs=quaternions(poses.rotations),
            )
        if self._boxes is not None or self._marks is not None:
            centers = poses.points(self._heavy, self._centers)
            if self._marks is not None:
                self._send(self._marks, points=centers)
            if self._boxes is not None:
                self._send(
                    self._boxes,
                    batched_positions=centers,
                    batched_wxyzs=quaternions(poses.turned(self._heavy, self._principal)),
                )
        if self._arrows is not None:
            starts = poses.positions[self._children]
            ends = poses.points(self._children, 1.5 * self._size.value * self._axes)
            self._send(self._arrows, points=np.stack([starts, ends], 1))
        if self._loops is not None:
            links = np.array([each.links for each in structure.loops]).ravel()
            local = np.array([each.points for each in structure.loops]).reshape(-1, 3)
            # -1 is the world
            points = np.where(links[:, None] < 0, local, poses.points(links, local))
            self._send(self._loops, points=points)
            self._send(self._gaps, points=points.reshape(-1, 2, 3))

    def _send(self, node: viser.SceneNodeHandle, **props: np.ndarray) -> None:
        update_node(
            self.server, node, **{name: value.astype(np.float32) for name, value in props.items()}
        )
