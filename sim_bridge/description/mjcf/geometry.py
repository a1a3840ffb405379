"""
Geoms of MJCF bodies as visual and collision elements.

Every geom is drawn, except those in groups that MuJoCo hides. A geom collides if contype,
conaffinity or a contact pair lets it collide with something.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sim_bridge.description.mjcf.compiled import CompiledModel, pose_of
from sim_bridge.description.mjcf.contacts import Contacts
from sim_bridge.description.mjcf.notes import Notes
from sim_bridge.description.model import GeometryDescription, Pose
from sim_bridge.shapes.mesh_files import MeshArrays

# groups shown by MuJoCo's viewer at its start
_SHOWN_GROUPS = 3
_FILE_SUFFIXES = ('.stl', '.obj')
_DEFAULT_COLOR = (0.5, 0.5, 0.5, 1.0)
# index of the colour texture among a material's textures
_COLOR_ROLE = 1


class Geoms:
    """Geoms of one model. Meshes used several times share their arrays."""

    def __init__(self, model: CompiledModel, contacts: Contacts, notes: Notes):
        """Start without meshes. contacts: collision rules for the geoms."""
        self._model, self._contacts, self._notes = model, contacts, notes
        self._meshes: dict[int, MeshArrays] = {}

    def of_body(
        self, body: int, frame: Pose | None = None
    ) -> tuple[tuple[GeometryDescription, ...], tuple[GeometryDescription, ...]]:
        """
        Return visuals and collisions on a body.

        frame: the body's frame in the link, None if equal. Planes and height fields, which only
        static bodies have, are left out; `worlds` makes shapes for them.
        """
        visuals, collisions = [], []
        for geom in self._model.of_body('geom', body):
            if self.is_ground(geom):
                continue
            described = self.describe(geom, frame or Pose())
            if described is None:
                continue
            visual, collision = described
            if self.is_shown(geom):
                visuals.append(visual)
            if self._contacts.collides(geom):
                collisions.append(collision)
        return tuple(visuals), tuple(collisions)

    def is_ground(self, geom: int) -> bool:
        """Return whether a geom is a plane or a height field."""
        return self._model.words('geom_type')[geom] in ('plane', 'hfield')

    def is_shown(self, geom: int) -> bool:
        """Return whether MuJoCo shows a geom."""
        return bool(self._model['geom_group'][geom] < _SHOWN_GROUPS and self.color(geom)[3] > 0.0)

    def color(self, geom: int) -> tuple[float, float, float, float]:
        """Return a geom's colour: its own, or its material's."""
        own, material = self._model['geom_rgba'][geom], int(self._model['geom_matid'][geom])
        if material >= 0 and np.allclose(own, _DEFAULT_COLOR):
            own = self._model['mat_rgba'][material]
        red, green, blue, opacity = (min(max(float(value), 0.0), 1.0) for value in own)
        return red, green, blue, opacity

    def describe(
        self, geom: int, frame: Pose
    ) -> tuple[GeometryDescription, GeometryDescription] | None:
        """Return a geom's visual and its collision element; None for kinds without shape."""
        model, notes = self._model, self._notes
        kind = model.words('geom_type')[geom]
        pose = frame @ model.pose('geom', geom)
        size = tuple(map(float, model['geom_size'][geom]))
        common: dict[str, Any] = {
            'name': model.name('geom', geom) if model.has_name('geom', geom) else '',
            'color': self.color(geom),
            'line': model.line('geom', geom),
            'texture': self._texture(geom),
        }
        common['texture_path'] = common['texture']
        own = self._contacts.of_geom(geom)
        if kind == 'mesh':
            mesh = int(model['geom_dataid'][geom])
            visual = self._mesh_visual(mesh, pose, common)
            surface = self._surface(mesh)
            scale = (1.0, 1.0, 1.0)
            return visual, GeometryDescription(
                'mesh', scale, pose, surface=surface, **common, **own
            )
        sizes = {
            'sphere': size[:1],
            'capsule': (size[0], 2.0 * size[1]),
            'cylinder': (size[0], 2.0 * size[1]),
            'ellipsoid': size,
            'box': tuple(2.0 * half for half in size),
        }
        if kind not in sizes:
            notes.left_out('geom', geom, f'geoms of type {kind} are not simulated', 'type')
            return None
        plain = GeometryDescription(kind, sizes[kind], pose, **common)
        return plain, GeometryDescription(kind, sizes[kind], pose, **common, **own)

    def _mesh_visual(self, mesh: int, pose: Pose, common: dict[str, Any]) -> GeometryDescription:
        """Return a visual by its file, which has textures, or with the compiled triangles."""
        model = self._model
        file = self.mesh_file(mesh)
        if file is None:
            scale = (1.0, 1.0, 1.0)
            return GeometryDescription('mesh', scale, pose, surface=self._surface(mesh), **common)
        # MuJoCo moves the vertices of a file to the mesh's principal axes
        moved = pose_of(model['mesh_pos'][mesh], model['mesh_quat'][mesh]).inverse
        size = tuple(map(float, model['mesh_scale'][mesh]))
        return GeometryDescription(
            'mesh', size, pose @ moved, filename=f'file://{file}', path=str(file), **common
        )

    def mesh_file(self, mesh: int) -> Path | None:
        """Return a mesh's file in a format read here; None for other meshes."""
        name = self._model.texts['mesh_files'][mesh]
        if not name or not name.lower().endswith(_FILE_SUFFIXES):
            return None
        return None if self._model.texts['mesh_moved'][mesh] else self._model.file(name)

    def _surface(self, mesh: int) -> MeshArrays:
        if mesh not in self._meshes:
            model = self._model
            first, count = int(model['mesh_vertadr'][mesh]), int(model['mesh_vertnum'][mesh])
            face, faces = int(model['mesh_faceadr'][mesh]), int(model['mesh_facenum'][mesh])
            self._meshes[mesh] = MeshArrays(
                model['mesh_vert'][first : first + count].astype(float),
                model['mesh_face'][face : face + faces].astype(np.int64),
            )
        return self._meshes[mesh]

    def _texture(self, geom: int) -> str:
        """Return the file of a geom's texture, '' for none."""
        material = int(self._model['geom_matid'][geom])
        if material < 0:
            return ''
        textures = np.atleast_1d(self._model['mat_texid'][material])
        texture = int(textures[_COLOR_ROLE] if len(textures) > 1 else textures[0])
        files = self._model.texts['texture_files']
        if not 0 <= texture < len(files) or not files[texture]:
            return ''
        file = self._model.file(files[texture])
        return '' if file is None else str(file)
