"""Contact points, contact forces, and pushes."""

from __future__ import annotations

import numpy as np

from sim_bridge.page.channel import CONTACTS, Frame, NUMBERS
from sim_bridge.page.layer import Context, PlainLayer, ROOT
from sim_bridge.page.poses import Poses
from sim_bridge.page.records import Structure
from sim_bridge.page.widgets import any_decimals, set_value, update_node

_CONTACTS, _PUSHES = NUMBERS.index('contacts'), NUMBERS.index('pushes')
_POINT, _FORCE, _PUSH = (220, 30, 30), (30, 150, 60), (230, 120, 0)
_NOWHERE = np.zeros((0, 3), np.float32)
_NO_ARROWS = np.zeros((0, 2, 3), np.float32)


class ForcesLayer(PlainLayer):
    """Layer for contact points, pushes, and an arrow for each contact force on the moving body."""

    def __init__(self, context: Context):
        """Add the nodes, hidden."""
        super().__init__(context)
        gui, scene = self.server.gui, self.server.scene
        self._is_ground = np.zeros(0, bool)
        with context.show, gui.add_folder('Contacts and forces'):
            self._points_on = gui.add_checkbox('Contact points', False)
            self._forces_on = gui.add_checkbox('Contact forces', False)
            self._pushes_on = gui.add_checkbox('Pushes', True)
            self._scale = gui.add_number(
                'Force scale', 0.01, min=0.0, step=0.001, hint='Length of arrows [m/N]'
            )
            self._least = gui.add_number(
                'Least force', 0.0, min=0.0, step=0.1, hint='Smaller ones are not shown [N]'
            )
        any_decimals(self._scale, self._least)
        self._points = scene.add_point_cloud(
            f'{ROOT}/contacts',
            _NOWHERE,
            _POINT,
            point_size=0.02,
            point_shape='circle',
            precision='float32',
        )
        self._forces = scene.add_arrows(
            f'{ROOT}/forces',
            _NO_ARROWS,
            _FORCE,
            shaft_radius=0.005,
            head_radius=0.012,
            head_length=0.03,
        )
        self._pushes = scene.add_arrows(
            f'{ROOT}/pushes',
            _NO_ARROWS,
            _PUSH,
            shaft_radius=0.008,
            head_radius=0.02,
            head_length=0.05,
        )
        self._was = [0, 0, 0]

    def show_contacts(self) -> None:
        """Switch contact points and forces on."""
        for widget in (self._points_on, self._forces_on):
            set_value(widget, True)

    def show(self, structure: Structure) -> None:
        """Choose a force scale by the moving robots' weight."""
        self._is_ground = np.array([not link.is_movable for link in structure.links], bool)
        set_value(self._scale, structure.force_scale)

    def update(self, frame: Frame, poses: Poses) -> None:
        """Show the last step's contacts and pushes."""
        is_wanted = self._points_on.value or self._forces_on.value
        count = min(int(frame.numbers[_CONTACTS]), CONTACTS) if is_wanted else 0
        contacts, scale = frame.contacts[:count], self._scale.value
        forces = contacts[:, 6:9]
        is_shown = np.linalg.norm(forces, axis=1) >= self._least.value
        # forces act on the moving body
        signs = np.where(
            self._is_ground[frame.contact_links[:count, 0].astype(int)], -scale, scale
        )[:, None]
        points = contacts[is_shown, :3]
        tips = points + (signs * forces)[is_shown]
        pushes = frame.pushes[: int(frame.numbers[_PUSHES])]
        self._set(0, points if self._points_on.value else _NOWHERE)
        self._set(1, np.stack([points, tips], 1) if self._forces_on.value else _NO_ARROWS)
        self._set(
            2,
            np.stack([pushes[:, :3], pushes[:, :3] + scale * pushes[:, 3:]], 1)
            if self._pushes_on.value
            else _NO_ARROWS,
        )

    def _set(self, which: int, points: np.ndarray) -> None:
        """Set a node's points, unless it is and was empty."""
        if len(points) or self._was[which]:
            self._was[which] = len(points)
            node = (self._points, self._forces, self._pushes)[which]
            update_node(self.server, node, points=points.astype(np.float32))
