"""Textures and vertex colours as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sim_bridge.engine.collision.mesh.surface_mesh import SurfaceMesh
from sim_bridge.engine.data.geometry import Geometry
from sim_bridge.engine.data.paint import NO_PAINT, Paint
from sim_bridge.foreign.appearance import Piece
from sim_bridge.foundation.srgb import linear_from_srgb, srgb_from_linear

_TONE = linear_from_srgb(np.arange(256) / 255.0)
_FINEST = 65535
_ENCODED = np.round(255.0 * srgb_from_linear(np.arange(_FINEST + 1) / _FINEST)).astype(np.uint8)
_FARTHEST = 1e6
"""Greatest texture coordinate; beyond, single precision has no place within a pixel."""


def paint_of(
    surfaces: Sequence[object], meshes: Sequence[SurfaceMesh | None], geometry: Geometry
) -> Paint:
    """
    Return the arrays for the kernels.

    surfaces: by visual; only a `Piece` is painted. meshes: their prepared triangles. geometry: the
    engine's arrays for all.
    """
    count = len(surfaces)
    texture, is_colored = np.full(count, NO_PAINT), np.zeros(count, np.int64)
    place_offset, color_offset = np.zeros(count, np.int64), np.zeros(count, np.int64)
    places, colors = [np.zeros((0, 6), np.float32)], [np.zeros((0, 12), np.float32)]
    numbers: dict[int, int] = {}
    pictures: list[np.ndarray] = []
    first = geometry.triangle_range[:, 0]
    for g, (piece, mesh) in enumerate(zip(surfaces, meshes, strict=True)):
        if not isinstance(piece, Piece) or mesh is None:
            continue
        corners = _corners(piece, mesh)
        if piece.picture is not None and piece.places is not None:
            # pieces of one file share their pictures
            texture[g] = numbers.setdefault(id(piece.picture), len(pictures))
            if texture[g] == len(pictures):
                pictures.append(piece.picture)
            place_offset[g] = sum(map(len, places)) - first[g]
            places.append(_finite(piece.places)[corners].reshape(-1, 6))
        if piece.colors is not None:
            is_colored[g], color_offset[g] = 1, sum(map(len, colors)) - first[g]
            colors.append(_linear(piece.colors)[corners].reshape(-1, 12))
    levels = [list(_levels(each)) for each in pictures]
    return Paint(
        texture=texture,
        place_offset=place_offset,
        corner_place=np.concatenate(places),
        is_colored=is_colored,
        color_offset=color_offset,
        corner_color=np.concatenate(colors),
        **_pooled(levels),
        tone=_TONE,
    )


def _finite(places: np.ndarray) -> np.ndarray:
    """Return texture coordinates with 0 for numbers that are not finite, float32."""
    return np.clip(np.nan_to_num(places, nan=0.0), -_FARTHEST, _FARTHEST).astype(np.float32)


def _corners(piece: Piece, mesh: SurfaceMesh) -> np.ndarray:
    """Return the piece's vertex at each corner of the prepared triangles, (m, 3)."""
    found = piece.triangles[mesh.source].astype(np.int64)
    return found[:, ::-1] if mesh.is_inverted else found


def _linear(colors: np.ndarray) -> np.ndarray:
    """Return linear colours and opacity for (n, 4) sRGB bytes."""
    return np.column_stack([_TONE[colors[:, :3]], colors[:, 3:] / 255.0]).astype(np.float32)


def _levels(picture: np.ndarray) -> Iterator[np.ndarray]:
    """Yield a picture, then its halves down to one pixel; (height, width, 4) bytes."""
    yield picture
    exact = _TONE[picture[..., :3]], picture[..., 3:] / 255.0
    # transparent pixels do not add their colours
    light = np.concatenate([exact[0] * exact[1], exact[1]], axis=2)
    while light.shape[0] > 1 or light.shape[1] > 1:
        light = _halved(_halved(light).swapaxes(0, 1)).swapaxes(0, 1)
        opacity = light[..., 3:]
        color = light[..., :3] / np.where(opacity > 0.0, opacity, 1.0)
        yield np.concatenate(
            [
                _ENCODED[np.round(_FINEST * np.clip(color, 0.0, 1.0)).astype(np.int64)],
                np.round(255.0 * np.clip(opacity, 0.0, 1.0)).astype(np.uint8),
            ],
            axis=2,
        )


def _halved(values: np.ndarray) -> np.ndarray:
    """Return the means over half as many rows, rounded down, with equal heights."""
    rows = len(values)
    if rows == 1:
        return values
    half = rows // 2
    if rows == 2 * half:
        return 0.5 * (values[0::2] + values[1::2])
    # means from the integral at the new rows' ends
    total = np.concatenate([np.zeros_like(values[:1]), np.cumsum(values, axis=0)])
    end = np.arange(half + 1) * (rows / half)
    whole = np.minimum(end.astype(np.int64), rows - 1)
    share = (end - whole).reshape(-1, *[1] * (values.ndim - 1))
    integral = total[whole] + share * values[whole]
    return np.asarray(np.diff(integral, axis=0) * (half / rows))


def _pooled(textures: Sequence[Sequence[np.ndarray]]) -> dict[str, np.ndarray]:
    """Return the fields of `Paint` that hold the levels."""
    levels = [each for levels in textures for each in levels]
    ends = np.cumsum([0, *map(len, textures)], dtype=np.int64)
    first = np.cumsum([0, *(each.shape[0] * each.shape[1] for each in levels)], dtype=np.int64)
    sizes = np.array([each.shape[:2] for each in levels], np.int64).reshape(-1, 2)
    return {
        'level_range': np.column_stack([ends[:-1], ends[1:]]),
        'level': np.column_stack([first[:-1], sizes]),
        'texel': np.concatenate(
            [np.zeros((0, 4), np.uint8), *(each.reshape(-1, 4) for each in levels)]
        ),
    }
