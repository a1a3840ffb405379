"""Render meshes for browsers: sharp edges, models with materials."""

from __future__ import annotations

from typing import Any

import numpy as np

from sim_bridge.foreign.appearance import Appearance, Color, Piece
from sim_bridge.foundation.srgb import linear_from_srgb

_CREASE = np.cos(np.radians(40.0))
_MOST_ROUNDS = 8


def with_creases(vertices: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Return a surface with separate vertices at its edges.

    Browsers average the triangle normals at a vertex: a box with 8 vertices looks round.
    """
    corners = vertices[triangles].astype(float)
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1), 1e-300)[:, None]
    own = np.repeat(normals, 3, axis=0)
    vertex = triangles.ravel().astype(np.int64)
    cluster = np.full(len(vertex), -1)
    count = 0
    for _ in range(_MOST_ROUNDS):
        left = np.flatnonzero(cluster < 0)
        if not len(left):
            break
        # at each vertex, group the first remaining corner with all corners whose normals are
        # similar
        vertices_left, first, which = np.unique(
            vertex[left], return_index=True, return_inverse=True
        )
        like = np.einsum('ij,ij->i', own[left], own[left[first]][which]) >= _CREASE
        like[first] = True
        cluster[left[like]] = count + which[like]
        count += len(vertices_left)
    left = np.flatnonzero(cluster < 0)
    cluster[left] = count + np.arange(len(left))
    numbers, first, which = np.unique(cluster, return_index=True, return_inverse=True)
    return vertices[vertex[first]], which.reshape(-1, 3).astype(np.uint32)


def model_of(appearance: Appearance, default: Color, signs: tuple[float, float, float]) -> bytes:
    """Return a GLB file with all pieces; default: colour for plain pieces; signs: mirroring."""
    # imported here: slow, and few robots need it
    from PIL import Image
    import trimesh

    scene = trimesh.Scene()
    pictures: dict[int, Any] = {}
    for piece in appearance.pieces:
        color = np.array(piece.color or default)
        material = trimesh.visual.material.PBRMaterial(
            baseColorFactor=np.append(linear_from_srgb(color[:3]), color[3]),
            metallicFactor=0.0,
            roughnessFactor=0.8,
            doubleSided=True,
            alphaMode='BLEND' if color[3] < 1.0 else 'OPAQUE',
        )
        if piece.picture is not None:
            picture = pictures.setdefault(id(piece.picture), Image.fromarray(piece.picture))
            material.baseColorTexture = picture
            if piece.picture[..., 3].min() < 255:
                material.alphaMode = 'MASK'
        visual = trimesh.visual.TextureVisuals(uv=piece.places, material=material)
        vertices, triangles = mirrored(piece, signs)
        if piece.places is None and piece.colors is None:
            vertices, triangles = with_creases(vertices, triangles)
        if piece.colors is not None:
            shades = np.round(255.0 * linear_from_srgb(np.arange(256) / 255.0)).astype(np.uint8)
            visual.vertex_attributes['color'] = np.column_stack(
                [shades[piece.colors[:, :3]], piece.colors[:, 3:]]
            )
        scene.add_geometry(trimesh.Trimesh(vertices, triangles, visual=visual, process=False))
    content: bytes = scene.export(file_type='glb', include_normals=True)
    return content


def merged(appearance: Appearance) -> Piece:
    """Return all pieces as one, in the mean colour weighted by triangle count."""
    counts = np.cumsum([0, *(len(each.vertices) for each in appearance.pieces[:-1])])
    colors = [(each.mean_color, len(each.triangles)) for each in appearance.pieces]
    known = [(color, size) for color, size in colors if color is not None]
    mean = (
        np.average([each[0] for each in known], axis=0, weights=[each[1] for each in known])
        if known
        else None
    )
    return Piece(
        np.concatenate([each.vertices for each in appearance.pieces]),
        np.concatenate(
            [
                each.triangles + np.uint32(first)
                for each, first in zip(appearance.pieces, counts, strict=True)
            ]
        ),
        None if mean is None else tuple(mean.tolist()),
    )  # type: ignore[arg-type]


def mirrored(piece: Piece, signs: tuple[float, float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Return vertices and triangles, mirrored along axes with a negative sign."""
    if min(signs) > 0.0:
        return piece.vertices, piece.triangles
    triangles = piece.triangles if np.prod(signs) > 0.0 else piece.triangles[:, ::-1]
    return (piece.vertices * np.array(signs)).astype(np.float32), triangles
