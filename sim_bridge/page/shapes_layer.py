"""Link surfaces, with mouse drag."""

from __future__ import annotations

from functools import partial
import time
from typing import Any

import numpy as np
import viser

from sim_bridge.foreign.appearance import Appearance, Piece
from sim_bridge.page.appearance_library import Library
from sim_bridge.page.batch import Batch, Style
from sim_bridge.page.channel import Frame
from sim_bridge.page.layer import Context, PlainLayer, ROOT
from sim_bridge.page.poses import Poses, quaternions
from sim_bridge.page.records import Mesh, MeshFile, Notice, Part, Reshaping, Structure
from sim_bridge.page.widgets import in_order

_VISUAL, _COLLISION, _BOTH = 'Visual', 'Collision', 'Both'
_ROLES = {
    _VISUAL: {'visual', 'both'},
    _COLLISION: {'collision', 'both'},
    _BOTH: {'visual', 'collision', 'both'},
}
_LOOK = 0.01  # between checks for finished files [s]
_BETWEEN = 1.0  # least time between updates with new meshes [s]
_OWN, _BY_MOTION = 'their own', 'by motion'


class ShapesLayer(PlainLayer):
    """All links' visual or collision shapes; shapes from files appear after reading."""

    def __init__(self, context: Context):
        """Start with an empty scene."""
        super().__init__(context)
        self._structure: Structure | None = None
        self._root = context.root
        self._holder: int | None = None
        self.server.on_client_disconnect(in_order(self._leave))
        self._batches: list[Batch] = []
        self._slices: list[slice] = []
        self._parts: list[Part] = []
        self._poses: Poses | None = None
        self._starts: list[int] = []
        self._places_shown = (np.zeros((0, 3), np.float32), np.zeros((0, 4), np.float32))
        self._asleep_shown = np.zeros(0, bool)
        self._is_stale = False
        self._reshaped: set[int] = set()
        self._changes, self._due = 0, 0.0
        self._library = Library(lambda kind, text: context.say(Notice(kind, text)))
        gui = self.server.gui
        with context.show:
            self._what = gui.add_dropdown('Shapes', (_VISUAL, _COLLISION, _BOTH))
            self._colors = gui.add_dropdown(
                'Colours',
                (_OWN, _BY_MOTION),
                hint='By motion: dynamic orange, kinematic blue, static grey',
            )
            self._opacity = gui.add_slider('Opacity', 0.05, 1.0, 0.05, 1.0)
            self._wireframe = gui.add_checkbox('Wireframe', False)
        for widget in (self._what, self._colors, self._opacity, self._wireframe):
            widget.on_update(in_order(lambda _: self._renew()))

    def show(self, structure: Structure) -> None:
        """Request the mesh files; the next frame gives the poses."""
        self._structure, self._is_stale = structure, True
        self._reshaped.clear()
        for mesh in structure.meshes:
            if isinstance(mesh, MeshFile):
                self._library.ask(mesh.path)

    def reshape(self, change: Reshaping) -> None:
        """Replace the surface with the next frame, and nothing else."""
        assert self._structure is not None
        meshes = list(self._structure.meshes)
        meshes[change.mesh] = change.surface
        self._structure = self._structure._replace(meshes=tuple(meshes))
        self._reshaped.add(change.mesh)

    def wait(self) -> None:
        """Wait until all files have been read."""
        while self._library.pending:
            time.sleep(_LOOK)

    def update(self, frame: Frame, poses: Poses) -> None:
        """Move all parts to their poses."""
        self._poses = poses
        if self._structure is None:
            return
        library, now = self._library, time.monotonic()
        # several at once, if they arrive in quick succession
        if self._changes != library.changes and (not library.pending or now > self._due):
            self._changes, self._due, self._is_stale = library.changes, now + _BETWEEN, True
        is_new, self._is_stale = self._is_stale, False
        if is_new:
            self._choose(self._structure)
        positions, wxyzs = self._places(poses)
        if is_new:
            self._make(self._structure, positions, wxyzs)
        elif self._reshaped:
            self._remake(self._structure, positions, wxyzs)
        self._reshaped.clear()
        if not self._batches:
            return
        # compare all parts at once: most batches have a single part
        asleep = frame.asleep[self._links] > 0.0
        has_moved = (positions != self._places_shown[0]).any(axis=1) | (
            wxyzs != self._places_shown[1]
        ).any(axis=1)
        for number in self._with_any(has_moved):
            rows = self._slices[number]
            self._batches[number].move(positions[rows], wxyzs[rows])
        for number in self._with_any(asleep != self._asleep_shown):
            self._batches[number].rest(asleep[self._slices[number]])
        self._places_shown, self._asleep_shown = (positions, wxyzs), asleep

    def _with_any(self, is_changed: np.ndarray) -> list[int]:
        """Return the indices of all batches with a changed part; is_changed: (parts,)."""
        found: list[int] = np.flatnonzero(
            np.logical_or.reduceat(is_changed, self._starts)
        ).tolist()
        return found

    def _places(self, poses: Poses) -> tuple[np.ndarray, np.ndarray]:
        """Return all parts' positions (n, 3) and quaternions (n, 4), float32."""
        return (
            poses.points(self._links, self._local).astype(np.float32),
            quaternions(poses.turned(self._links, self._rotations)).astype(np.float32),
        )

    def _choose(self, structure: Structure) -> None:
        """Group the visible parts by surface."""
        roles, library = _ROLES[self._what.value], self._library
        files = [mesh.path if isinstance(mesh, MeshFile) else '' for mesh in structure.meshes]
        failed = {
            path for path in files if path and library.has(path) and library.get(path) is None
        }
        # links without a readable visual mesh show their collision shapes
        bare = {
            part.link
            for part in structure.parts
            if part.role == 'visual' and files[part.mesh] in failed
        }
        groups: dict[tuple[str, int, bytes], list[Part]] = {}
        for part in structure.parts:
            path = files[part.mesh]
            if path in failed or (path and not library.has(path)):
                continue
            if part.role in roles or (part.role == 'collision' and part.link in bare):
                signs = (np.array(part.scale) < 0.0).tobytes()
                groups.setdefault((part.role, part.mesh, signs), []).append(part)
        self._groups = list(groups.values())
        self._parts = [part for group in self._groups for part in group]
        ends = np.cumsum([0, *map(len, self._groups)]).tolist()
        self._slices = [slice(*each) for each in zip(ends[:-1], ends[1:], strict=True)]
        self._starts = [rows.start for rows in self._slices]
        self._links = np.array([part.link for part in self._parts], int)
        self._local = np.array([part.position for part in self._parts]).reshape(-1, 3)
        self._rotations = np.array([part.rotation for part in self._parts]).reshape(-1, 3, 3)

    def _make(self, structure: Structure, positions: np.ndarray, wxyzs: np.ndarray) -> None:
        """Rebuild all nodes."""
        for batch in self._batches:
            batch.remove()
        self._batches = [
            self._batch(structure, group, rows, positions, wxyzs)
            for group, rows in zip(self._groups, self._slices, strict=True)
        ]
        self._places_shown = positions, wxyzs
        self._asleep_shown = np.zeros(len(positions), bool)

    def _remake(self, structure: Structure, positions: np.ndarray, wxyzs: np.ndarray) -> None:
        """Rebuild the nodes with a changed surface."""
        for k, (group, rows) in enumerate(zip(self._groups, self._slices, strict=True)):
            if group[0].mesh in self._reshaped:
                self._batches[k].remove()
                self._batches[k] = self._batch(structure, group, rows, positions, wxyzs)
                self._asleep_shown[rows] = False

    def _batch(
        self,
        structure: Structure,
        group: list[Part],
        rows: slice,
        positions: np.ndarray,
        wxyzs: np.ndarray,
    ) -> Batch:
        style = Style(self._opacity.value, self._wireframe.value, self._colors.value == _BY_MOTION)
        batch = Batch(
            self.server,
            f'{ROOT}/{group[0].role}/{group[0].mesh}_{rows.start}',
            self._appearance(structure.meshes[group[0].mesh]),
            group,
            [structure.links[part.link].motion for part in group],
            style,
            (positions[rows], wxyzs[rows]),
        )
        if 'drag' in structure.abilities:
            for handle in batch.handles:
                handle.on_drag('left', modifier='cmd/ctrl')(in_order(partial(self._drag, rows)))
        return batch

    def _appearance(self, mesh: Mesh | MeshFile) -> Appearance:
        if isinstance(mesh, Mesh):
            return Appearance((Piece(mesh.vertices, mesh.triangles),))
        appearance = self._library.get(mesh.path)
        assert appearance is not None
        return appearance

    def _renew(self) -> None:
        self._is_stale = True

    def _drag(self, rows: slice, event: Any) -> None:
        """Drag the part under the pointer, at the point where the drag began."""
        structure, poses = self._structure, self._poses
        if structure is None or poses is None or event.instance_index is None:
            return
        if event.phase == 'end':
            self._holder = None
            self.ask('drop')
            return
        self._holder = event.client_id
        link = self._parts[rows.start + event.instance_index].link
        record = structure.links[link]
        if not record.is_movable:
            return
        # a followed link stays in place, and the world moves
        point, origin = None, np.array(self._root.position)
        if event.phase == 'start':
            # in the link's frame, since the displayed pose lags behind
            R, p = poses.rotations[link], poses.positions[link]
            point = (R.T @ (np.array(event.start_position) - origin - p)).tolist()
        self.ask(
            'drag',
            robot=record.robot,
            link=record.name,
            point=point,
            target=(np.array(event.end_position) - origin).tolist(),
        )

    def _leave(self, client: viser.ClientHandle) -> None:
        """End a drag when its client disconnects."""
        if client.client_id == self._holder:
            self._holder = None
            self.ask('drop')
