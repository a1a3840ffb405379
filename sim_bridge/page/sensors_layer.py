"""Sensor frames, ray hits, and measured forces and torques."""

from __future__ import annotations

import numpy as np

from sim_bridge.page.channel import Frame
from sim_bridge.page.layer import Context, PlainLayer, ROOT
from sim_bridge.page.poses import Poses, quaternions
from sim_bridge.page.records import SensorRecord, Structure
from sim_bridge.page.widgets import any_decimals, set_value, update_node

_RAY, _HIT, _FORCE, _TORQUE = (120, 190, 255), (220, 30, 140), (40, 90, 220), (150, 60, 200)
_NO_LINES = np.zeros((0, 2, 3), np.float32)
_MOST_RAYS = 20_000


class SensorsLayer(PlainLayer):
    """Layer for sensors: their axes, rays of range sensors and lidars, force and torque arrows."""

    def __init__(self, context: Context):
        """Add empty nodes."""
        super().__init__(context)
        gui, scene = self.server.gui, self.server.scene
        with context.show, gui.add_folder('Sensors', expand_by_default=False):
            self._places_on = gui.add_checkbox('Places of sensors', False)
            self._rays_on = gui.add_checkbox('Rays', True, hint='Of range sensors and lidars')
            self._wrenches_on = gui.add_checkbox(
                'Force and torque', False, hint='Force blue, torque violet, as measured'
            )
            self._scale = gui.add_number(
                'Scale of both', 0.01, min=0.0, step=0.001, hint='Length of arrows [m/N, m/(N m)]'
            )
        any_decimals(self._scale)
        self._axes = scene.add_batched_axes(
            f'{ROOT}/sensors',
            np.zeros((0, 4)),
            np.zeros((0, 3)),
            axes_length=0.08,
            axes_radius=0.004,
        )
        self._rays = scene.add_line_segments(
            f'{ROOT}/rays', _NO_LINES, _RAY, thickness=1.0, thickness_units='screen'
        )
        self._hits = scene.add_point_cloud(
            f'{ROOT}/hits',
            _NO_LINES[:, 0],
            _HIT,
            point_size=0.03,
            point_shape='circle',
            precision='float32',
        )
        self._arrows = {
            color: scene.add_arrows(
                f'{ROOT}/{name}',
                _NO_LINES,
                color,
                shaft_radius=0.005,
                head_radius=0.012,
                head_length=0.03,
            )
            for name, color in (('measured_force', _FORCE), ('measured_torque', _TORQUE))
        }
        self._shown: dict[str, int] = {}
        self._sensors: tuple[SensorRecord, ...] = ()

    def show(self, structure: Structure) -> None:
        """Take the sensors, and choose a scale by the moving robots' weight."""
        self._sensors = structure.sensors
        self._links = np.array([each.link for each in self._sensors], int)
        self._positions = np.array([each.position for each in self._sensors]).reshape(-1, 3)
        self._rotations = np.array([each.rotation for each in self._sensors]).reshape(-1, 3, 3)
        set_value(self._scale, structure.force_scale)

    def update(self, frame: Frame, poses: Poses) -> None:
        """Show the newest samples."""
        places = poses.points(self._links, self._positions) if self._sensors else _NO_LINES[:, 0]
        if self._places_on.value and self._sensors:
            self._set(
                self._axes,
                len(places),
                batched_positions=places.astype(np.float32),
                batched_wxyzs=quaternions(poses.turned(self._links, self._rotations)).astype(
                    np.float32
                ),
            )
        else:
            self._set(
                self._axes,
                0,
                batched_positions=_NO_LINES[:, 0],
                batched_wxyzs=np.zeros((0, 4), np.float32),
            )
        lines = self._find_rays(frame, poses, places) if self._rays_on.value else _NO_LINES
        self._set(self._rays, len(lines), points=lines)
        self._set(self._hits, len(lines), points=np.ascontiguousarray(lines[:, 1]))
        forces, torques = self._find_wrenches(frame, poses, places)
        for color, arrows in ((_FORCE, forces), (_TORQUE, torques)):
            self._set(self._arrows[color], len(arrows), points=arrows)

    def _find_rays(self, frame: Frame, poses: Poses, places: np.ndarray) -> np.ndarray:
        """Return lines (n, 2, 3) from sensors to their hits."""
        found = []
        for sensor, place in zip(self._sensors, places, strict=True):
            if sensor.kind != 'rays':
                continue
            values = frame.readings[sensor.row : sensor.row + sensor.size]
            distances = np.broadcast_to(values, len(sensor.directions))
            seen = np.isfinite(distances)
            ways = sensor.directions[seen] @ (poses.rotations[sensor.link] @ sensor.rotation).T
            ends = place + distances[seen, None] * ways
            found.append(np.stack([np.broadcast_to(place, ends.shape), ends], 1))
        if not found:
            return _NO_LINES
        return np.concatenate(found)[:_MOST_RAYS].astype(np.float32)

    def _find_wrenches(
        self, frame: Frame, poses: Poses, places: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return arrows (n, 2, 3) for forces, and for torques."""
        felt = [
            (sensor, place)
            for sensor, place in zip(self._sensors, places, strict=True)
            if sensor.kind == 'force' and np.isfinite(frame.readings[sensor.row])
        ]
        if not self._wrenches_on.value or not felt:
            return _NO_LINES, _NO_LINES
        starts = np.array([place for _, place in felt])
        wrenches = np.array(
            [
                frame.readings[sensor.row : sensor.row + 6].reshape(2, 3)
                @ (poses.rotations[sensor.link_of] @ sensor.rotation_of).T
                for sensor, _ in felt
            ]
        )
        tips = starts[:, None] + self._scale.value * wrenches
        force, torque = (np.stack([starts, tips[:, k]], 1).astype(np.float32) for k in range(2))
        return force, torque

    def _set(self, node: object, count: int, **props: np.ndarray) -> None:
        """Send properties, unless the node is and was empty."""
        name = node.name  # type: ignore[attr-defined]
        if count or self._shown.get(name):
            self._shown[name] = count
            update_node(self.server, node, **props)
