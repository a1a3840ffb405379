"""
Array rows that hold poses, spatial motions and spatial forces.

A spatial vector has six numbers. For a velocity or acceleration: the angular part, then the linear
part. For a force or wrench: the torque, then the force.
"""

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.math.mat3 import load_m, mul_mm, mul_mv, store_m
from sim_bridge.engine.math.vec3 import add, cross, load3, store3

# columns in a pose or frame: rotation by rows, then origin [m]
ROTATION, ORIGIN = 0, 9
FRAME_SIZE = 12
# columns in a spatial velocity or acceleration
ANGULAR, LINEAR = 0, 3
# columns in a spatial force or wrench
TORQUE, FORCE = 0, 3
WRENCH_SIZE = 6


@kernel
def load_pose(array, row):
    """Read a pose or frame: rotation and origin."""
    return load_m(array, row, ROTATION), load3(array, row, ORIGIN)


@kernel
def store_pose(array_out, row, R, p):
    """Write a pose or frame."""
    store_m(array_out, row, ROTATION, R)
    store3(array_out, row, ORIGIN, p)


@kernel
def carried(outer, R, p):
    """Return the world pose of a frame (R, p) fixed to a body at the pose `outer`."""
    return mul_mm(outer[0], R), add(outer[1], mul_mv(outer[0], p))


@kernel
def load_spatial(array, row):
    """Read a spatial vector: angular and linear part."""
    return load3(array, row, ANGULAR), load3(array, row, LINEAR)


@kernel
def store_spatial(array_out, row, angular, linear):
    """Write a spatial vector."""
    store3(array_out, row, ANGULAR, angular)
    store3(array_out, row, LINEAR, linear)


@kernel
def add_spatial(array_inout, row, angular, linear):
    """Add to a spatial vector."""
    store3(array_inout, row, ANGULAR, add(load3(array_inout, row, ANGULAR), angular))
    store3(array_inout, row, LINEAR, add(load3(array_inout, row, LINEAR), linear))


@kernel
def cross_motion(w, v, s, t):
    """
    Return (w, v) x (s, t): rate of change of a motion vector fixed to a moving body.

    (w, v): body velocity. (s, t): motion vector, such as a velocity.
    """
    return cross(w, s), add(cross(w, t), cross(v, s))


@kernel
def cross_force(w, v, n, f):
    """
    Return (w, v) x* (n, f): rate of change of a force vector fixed to a moving body.

    (w, v): body velocity. (n, f): force vector, such as a wrench.
    """
    return add(cross(w, n), cross(v, f)), cross(w, f)
