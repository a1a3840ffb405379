"""Bitwise comparison for floating-point numbers."""

import math

from sim_bridge.compiler.kernel import kernel


@kernel
def is_same(a, b):
    """Return whether two numbers have the same bits; False for NaN."""
    return a == b and (a != 0.0 or math.copysign(1.0, a) == math.copysign(1.0, b))
