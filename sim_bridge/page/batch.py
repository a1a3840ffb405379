"""Instanced scene nodes: many bodies with one surface at the cost of one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import viser

from sim_bridge.foreign.appearance import Appearance
from sim_bridge.page.records import Part
from sim_bridge.page.render_meshes import merged, mirrored, model_of, with_creases
from sim_bridge.page.widgets import update_node

# sleeping parts: remaining share of their colour, and the grey value mixed into it
_ASLEEP_SHARE, _ASLEEP_SHADE = 0.35, 0.45
MOTION_COLORS = {
    'static': (0.72, 0.73, 0.75),
    'kinematic': (0.35, 0.50, 0.75),
    'dynamic': (0.90, 0.56, 0.21),
}


class Style(NamedTuple):
    """Drawing style for surfaces. by_motion: colour by motion type instead of own colours."""

    opacity: float = 1.0
    is_wireframe: bool = False
    by_motion: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether the style changes nothing: models keep all their colours and textures."""
        return self == Style()


class Batch:
    """
    Parts with one surface.

    appearance: of a file, or of a single piece without a colour. Part scales are along the axes of
    this surface; all parts have the same scale signs. motions: motion type for each part.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        name: str,
        appearance: Appearance,
        parts: list[Part],
        motions: list[str],
        style: Style,
        places: tuple[np.ndarray, np.ndarray],
    ):
        """Add the nodes; places: arguments for `move`."""
        self._server, self._name = server, name
        self._places, self._style = places, style
        self._scales = np.array([part.scale for part in parts], np.float32)
        self._signs: Any = tuple(np.where(self._scales[0] < 0.0, -1.0, 1.0).tolist())
        self._scales *= np.array(self._signs, np.float32)
        self._asleep = np.zeros(len(parts), bool)
        self._own = np.array(
            [
                (*MOTION_COLORS[motion], part.color[3]) if style.by_motion else part.color
                for part, motion in zip(parts, motions, strict=True)
            ]
        )
        self._twin: tuple[Any, np.ndarray] | None = None
        self._appearance = appearance
        self._model: Any = None
        self._plain: list[tuple[Any, np.ndarray]] = []
        is_model = len(appearance.pieces) > 1 or any(
            each.colors is not None or each.picture is not None for each in appearance.pieces
        )
        if is_model and style.is_plain:
            positions, wxyzs = places
            self._model = server.scene.add_batched_glb(
                name,
                model_of(appearance, parts[0].color, self._signs),
                wxyzs,
                positions,
                batched_scales=self._scales,
                lod='off',
                cast_shadow=False,
                receive_shadow=False,
            )
        else:
            self._plain = [
                self._add_plain(f'{name}/{k}' if k else name, Appearance((piece,)))
                for k, piece in enumerate(appearance.pieces)
            ]

    @property
    def handles(self) -> list[Any]:
        """All nodes."""
        model = [] if self._model is None else [self._model]
        return [
            *model,
            *(handle for handle, _ in self._plain),
            *([] if self._twin is None else [self._twin[0]]),
        ]

    def move(self, positions: np.ndarray, wxyzs: np.ndarray) -> None:
        """Move all parts to positions (n, 3) and quaternions (n, 4), float32."""
        self._places = positions, wxyzs
        for handle in self.handles:
            update_node(self._server, handle, batched_positions=positions, batched_wxyzs=wxyzs)

    def rest(self, asleep: np.ndarray) -> None:
        """Show the sleeping parts, (n,) booleans."""
        self._asleep = asleep
        for handle, colors in self._plain:
            update_node(self._server, handle, batched_colors=_bytes(_dimmed(colors, asleep)))
        if self._model is None:
            return
        # a model has its own colours: a grey copy represents its sleeping instances
        if self._twin is None:
            self._twin = self._add_plain(
                f'{self._name}/asleep', Appearance((merged(self._appearance),))
            )
            handle, colors = self._twin
            update_node(
                self._server,
                handle,
                batched_colors=_bytes(_dimmed(colors, np.ones(len(colors), bool))),
            )
        hidden = np.zeros_like(self._scales)
        for handle, is_drawn in ((self._model, ~asleep), (self._twin[0], asleep)):
            update_node(
                self._server,
                handle,
                batched_scales=np.where(is_drawn[:, None], self._scales, hidden),
            )

    def remove(self) -> None:
        """Remove the nodes."""
        for handle in reversed(self.handles):
            handle.remove()

    def _add_plain(self, name: str, appearance: Appearance) -> tuple[Any, np.ndarray]:
        """Add a node with one colour for each instance; return it, and the colours (n, 3)."""
        (piece,) = appearance.pieces
        colors = self._own
        if piece.mean_color is not None and not self._style.by_motion:
            colors = np.tile(piece.mean_color, (len(colors), 1))
        opacities = (colors[:, 3] * self._style.opacity).astype(np.float32)
        vertices, triangles = with_creases(*mirrored(piece, self._signs))
        positions, wxyzs = self._places
        return self._server.scene.add_batched_meshes_simple(
            name,
            vertices,
            triangles,
            wxyzs,
            positions,
            batched_scales=self._scales,
            batched_colors=_bytes(_dimmed(colors, self._asleep)),
            batched_opacities=opacities,
            opacity=None if (opacities == 1.0).all() else 1.0,
            wireframe=self._style.is_wireframe,
            side='double',
            lod='off',
            cast_shadow=False,
            receive_shadow=False,
        ), colors[:, :3]


def _dimmed(colors: np.ndarray, asleep: np.ndarray) -> np.ndarray:
    shares = np.where(asleep, _ASLEEP_SHARE, 1.0)[:, None]
    return colors[:, :3] * shares + (1.0 - shares) * _ASLEEP_SHADE


def _bytes(colors: np.ndarray) -> np.ndarray:
    return (255.0 * colors).round().astype(np.uint8)
