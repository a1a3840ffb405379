"""First crossing between a line and a hollow shape, in the shape's frame; see `ray.spans`."""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.collision.ray.spans import SIDE, tapered_normal, tapered_span
from sim_bridge.engine.math.vec3 import load3, scale

# face number of the bore's wall, beside the faces of cones
BORE = 3


@subroutine
def hollow_crossing(geometry, g, o, d, dd, low, high, is_culled):
    """
    Return the least t from low to high at which a line crosses a hollow shape, and the face.

    The line is inside from its entry into the full cone to its entry into the bore, and again from
    its exit from the bore on. Through a mouth, it crosses cone and bore at once. It never reaches
    the bore's wall before the cone's, whatever rounding gives at a tip.
    """
    size, bore = load3(geometry.size, g, 0), (geometry.bore[g, 0], geometry.bore[g, 1])
    first, entered, last, left = tapered_span(size[0], size[1], size[2], o, d, dd)
    begin, into, end, out = tapered_span(bore[0], size[1], bore[1], o, d, dd)
    if first > last or begin > end:
        return span_crossing((first, entered, last, left), low, high, is_culled)
    if into == SIDE:
        t, face = span_crossing((min(first, begin), entered, begin, BORE), low, high, is_culled)
        if t <= high:
            return t, face
    if out == SIDE:
        return span_crossing((end, BORE, max(end, last), left), low, high, is_culled)
    return math.inf, 0


@kernel
def span_crossing(span, low, high, is_culled):
    """Return the least t from low to high at which a line crosses a span's end, and the face."""
    first, entered, last, left = span
    if first <= last:
        if low <= first <= high:
            return first, entered
        if first < low <= last <= high and not is_culled:
            return last, left
    return math.inf, 0


@subroutine
def hollow_normal(geometry, g, face, x):
    """Return a hollow shape's outward unit normal at a point on a face, own frame."""
    size = load3(geometry.size, g, 0)
    if face == BORE:
        return scale(
            -1.0, tapered_normal(geometry.bore[g, 0], size[1], geometry.bore[g, 1], SIDE, x)
        )
    return tapered_normal(size[0], size[1], size[2], face, x)
