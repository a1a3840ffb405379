"""SDF populations: model copies, distributed in a region."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
import math

import numpy as np

from sim_bridge.description.model import Pose
from sim_bridge.description.numbers import Numbers
from sim_bridge.description.poses import read_only
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.sdf_model.document import Entity, entity_of, Library
from sim_bridge.description.sdf_model.scope import nested_entities
from sim_bridge.description.sdf_model.tags import POSITIVE, Tags
from sim_bridge.description.xml.document import Element

MOST_COPIES = 2_000
_COUNT = Numbers(minimum=0.0)
_LINES = ('linear-x', 'linear-y', 'linear-z')
_TYPES = ('random', 'uniform', 'grid', *_LINES)
_Point = tuple[float, float, float]


def populated(world: Entity, library: Library) -> Iterator[tuple[Entity, Pose]]:
    """
    Yield each population's copies: the model with its name, and a pose before its own.

    Random places have the population's name as seed: they are the same at each loading.
    """
    for node in world.element.findall('population'):
        own = Findings()
        tags = Tags(node, Place('population', node.get('name'), node.line), own)
        pose, _ = tags.pose()
        points = list(_points(tags))
        model = next(nested_entities(entity_of(node, world.file), library, 0), None)
        if model is None:
            own.error('missing-tag', tags.place.child('model', node.line), 'missing')
        tags.close(('model', 'include'))
        if not library.findings.take_part(own, 'population') or model is None:
            continue
        for number, point in enumerate(points):
            name = f'{model.name}_clone_{number}'
            yield replace(model, name=name), pose @ Pose(read_only(point))


def _points(tags: Tags) -> Iterator[_Point]:
    count = int(tags.number('model_count', 1.0, _COUNT))
    distribution = tags.inside('distribution')
    kind = 'random' if distribution is None else distribution.text('type', 'random')
    rows, columns, step = 1, 1, (0.5, 0.5, 0.0)
    if distribution is not None:
        rows = int(distribution.number('rows', 1.0, _COUNT))
        columns = int(distribution.number('cols', 1.0, _COUNT))
        x, y, z = distribution.vector('step', step)
        step = x, y, z
        distribution.close()
    if kind not in _TYPES:
        message = f'must be one of {", ".join(_TYPES)}'
        tags.findings.error('bad-value', tags.place.child('distribution', tags.node.line), message)
        return
    count = rows * columns if kind == 'grid' else count
    if count > MOST_COPIES:
        message = f'more than {MOST_COPIES} copies are not made'
        tags.findings.error('out-of-range', tags.place, message, value=str(count))
        return
    if kind == 'grid':
        for k in range(count):
            i, j = k % columns - 0.5 * (columns - 1), k // columns - 0.5 * (rows - 1)
            yield i * step[0], j * step[1], 0.0
        return
    yield from _in_region(tags, kind, count)


def _in_region(tags: Tags, kind: str, count: int) -> Iterator[_Point]:
    """Yield points in a box or a cylinder, whose frame is in its middle."""
    box, cylinder = tags.inside('box'), tags.inside('cylinder')
    if box is not None:
        size = box.vector('size', (1.0, 1.0, 1.0))
        box.close()
    elif cylinder is not None:
        radius, length = (cylinder.number(name, 1.0, POSITIVE) for name in ('radius', 'length'))
        size = 2.0 * radius, 2.0 * radius, length
        cylinder.close()
    else:
        tags.findings.error('one-of', tags.place, 'must hold box or cylinder')
        return
    if kind in _LINES:
        axis = _LINES.index(kind)
        for k in range(count):
            point = [0.0, 0.0, 0.0]
            point[axis] = size[axis] * ((k + 0.5) / count - 0.5)
            yield point[0], point[1], point[2]
        return
    shares = _grid(count) if kind == 'uniform' else _random(tags.node, count)
    for a, b, c in shares:
        if cylinder is not None:
            distance, angle = 0.5 * size[0] * math.sqrt(a), 2.0 * math.pi * b
            yield distance * math.cos(angle), distance * math.sin(angle), size[2] * (c - 0.5)
        else:
            yield size[0] * (a - 0.5), size[1] * (b - 0.5), size[2] * (c - 0.5)


def _random(node: Element, count: int) -> Iterator[_Point]:
    seed = int.from_bytes(node.get('name').encode()[:64], 'little')
    yield from np.random.default_rng(seed).random((count, 3)).tolist()


def _grid(count: int) -> Iterator[_Point]:
    side = max(1, math.ceil(math.sqrt(count)))
    for k in range(count):
        yield (k % side + 0.5) / side, (k // side + 0.5) / side, 0.5
