"""OpenPLX scene overview for `check`: body poses, and how SNAP found them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sim_bridge.cli.overview import gravity_data, robot_data
from sim_bridge.cli.overview_text import gravity_text, robot_text
from sim_bridge.description.mechanism.base import Base
from sim_bridge.description.model import ConstraintType, Pose
from sim_bridge.description.openplx.mapping.records import MappedScene, Signal
from sim_bridge.description.report import Findings
from sim_bridge.foundation.names import counted
from sim_bridge.foundation.rotation import quaternion_from_matrix
from sim_bridge.world.switches import ENABLE

Data = dict[str, Any]


def openplx_data(scene: MappedScene) -> Data:
    """Return a scene's contents as plain data."""
    snap = scene.snap
    return {
        'model': scene.name,
        'gravity': gravity_data(scene.gravity),
        'frames': [
            {
                'path': path,
                'link': scene.links.get(path),
                **_pose(scene.poses[path]),
                'local': _pose(local),
            }
            for path, local in snap.transforms.items()
        ],
        'snap': [
            {'why': step.why.value, 'mate': step.mate, 'frames': list(step.frames)}
            for step in snap.steps
        ],
        'unsatisfied': [
            {'mate': each.mate, 'gap': each.gap, 'angle': each.angle} for each in snap.unsatisfied
        ],
        'robots': [
            {
                'label': each.label,
                **robot_data(
                    each.description,
                    Findings(),
                    base=Base(each.description.fixed_base, 'the model says so'),
                    collisions='hull' if each.description.xml else 'none',
                ),
                'shapes': len(each.shapes),
            }
            for each in scene.robots
        ],
        'joints_between_robots': [each.constraint.name for each in scene.cross_joints],
        'materials': [each.name for each in scene.materials],
        'inputs': [each.name for each in scene.signals if each.is_input and _acts(scene, each)],
        'outputs': [each.name for each in scene.signals if not each.is_input and each.enabled],
    }


def openplx_text(scene: Data, most: int | None) -> str:
    """Return the same data as text; most: lines per list, None for all."""
    lines = [f'OpenPLX model {scene["model"]!r}: {counted(len(scene["robots"]), "robot")}']
    if scene['gravity'] is not None:
        lines.append(f'gravity: {gravity_text(scene["gravity"])}')
    lines += ['', 'frames: path, position [m], quaternion x y z w, in the scene frame']
    lines += _abridged(
        scene['frames'],
        most,
        lambda each: (
            f'{each["path"]}: {_numbers(each["position"])}, {_numbers(each["orientation"])}'
        ),
    )
    lines += ['', 'SNAP: decision, mate, frames']
    lines += _abridged(
        scene['snap'],
        most,
        lambda each: ', '.join(
            filter(None, (each['why'], each['mate'], ' and '.join(each['frames'])))
        ),
    )
    for name in ('inputs', 'outputs'):
        if scene[name]:
            lines += ['', name, *_abridged(scene[name], most, str)]
    for each in scene['robots']:
        lines += ['', robot_text(each, most)]
    return '\n'.join(lines)


def _acts(scene: MappedScene, signal: Signal) -> bool:
    """Return whether an input has an effect, and thus belongs to the world's `inputs_of`."""
    robots = [each.description for each in scene.robots]
    if signal.model == 'RigidBody':
        return any(scene.links[signal.source] == robot.root for robot in robots)
    name = scene.joints.get(signal.source)
    if signal.kind == ENABLE:
        return not any(name in robot.joints for robot in robots)
    loops = [
        *(loop for robot in robots for loop in robot.constraints),
        *(cross.constraint for cross in scene.cross_joints),
    ]
    return signal.model != 'Distance' or any(
        loop.name == name and loop.type is ConstraintType.DISTANCE for loop in loops
    )


def _abridged(items: list[Any], most: int | None, shown: Any) -> Iterator[str]:
    for item in items[:most]:
        yield f'  {shown(item)}'
    if most is not None and len(items) > most:
        yield f'  … {len(items) - most} more; --all shows them'


def _pose(pose: Pose) -> Data:
    return {
        'position': pose.position.tolist(),
        'orientation': quaternion_from_matrix(pose.rotation).tolist(),
    }


def _numbers(values: list[float]) -> str:
    # adding 0.0 turns -0 into 0
    return ' '.join(f'{value + 0.0:.6g}' for value in (round(value, 12) for value in values))
