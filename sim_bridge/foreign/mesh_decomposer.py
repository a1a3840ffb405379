"""
Finds, inside the confined process, where to cut a mesh into nearly convex parts, by CoACD.

CoACD is a C++ library that ends its process where it finds no answer; here it ends this one, and
what it takes is bounded.
"""

from __future__ import annotations

import os
import random
from typing import Any

import coacd
import numpy as np
import numpy.ctypeslib

MAY_READ = False

# what it prints would break the answers
coacd.set_log_level('off')
# what wraps open surfaces takes as many threads as it may use processors, and this has one
if hasattr(os, 'sched_setaffinity'):
    os.sched_setaffinity(0, {random.choice(sorted(os.sched_getaffinity(0)))})


def read(request: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
    """
    Return the boxes (k, 2, 3) around the parts that a mesh is cut into, 8-byte floats.

    request: 'vertices', the number of these, and 'options', arguments of `run_coacd`. data: the
    vertices (n, 3), 8-byte floats, and triangles (m, 3), 4-byte integers.
    """
    middle = 24 * request['vertices']
    vertices = np.frombuffer(data[:middle]).reshape(-1, 3)
    triangles = np.frombuffer(data[middle:], np.int32).reshape(-1, 3)
    parts = coacd.run_coacd(coacd.Mesh(vertices, triangles), **request['options'])
    boxes = [[points.min(axis=0), points.max(axis=0)] for points, _ in parts]
    return {}, np.array(boxes).tobytes()
