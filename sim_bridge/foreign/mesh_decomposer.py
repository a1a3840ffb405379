"""
Decomposition of a mesh into nearly convex parts in the confined process, by CoACD.

CoACD is a C++ library that ends its process if it finds no solution; here it ends the confined
process, and its resources are limited.
"""

from __future__ import annotations

import os
import random
from typing import Any

import coacd
import numpy as np
import numpy.ctypeslib

MAY_READ = False

# printed text would corrupt the answers
coacd.set_log_level('off')
# wrapping open surfaces uses one thread per permitted processor; this process may have only one
if hasattr(os, 'sched_setaffinity'):
    os.sched_setaffinity(0, {random.choice(sorted(os.sched_getaffinity(0)))})


def read(request: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
    """
    Return the bounding boxes (k, 2, 3) of a mesh's convex parts, 8-byte floats.

    request: 'vertices', vertex count, and 'options', arguments for `run_coacd`. data: vertices
    (n, 3) as 8-byte floats, and triangles (m, 3) as 4-byte integers.
    """
    middle = 24 * request['vertices']
    vertices = np.frombuffer(data[:middle]).reshape(-1, 3)
    triangles = np.frombuffer(data[middle:], np.int32).reshape(-1, 3)
    parts = coacd.run_coacd(coacd.Mesh(vertices, triangles), **request['options'])
    boxes = [[points.min(axis=0), points.max(axis=0)] for points, _ in parts]
    return {}, np.array(boxes).tobytes()
