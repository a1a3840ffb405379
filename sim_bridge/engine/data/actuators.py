"""
Actuators: columns and constants of their arrays in Model and Workspace.

An actuator has a transmission with a length L. Its force is

    f = (g0 + g1 L + g2 dL/dt) input + b0 + b1 L + b2 dL/dt,

clamped to the force range. The input is the control, clamped to the control range, or the
activation of an actuator with dynamics. The force acts along the gradient of L.
"""

from __future__ import annotations

from sim_bridge.engine.math.spatial import FRAME_SIZE

# columns in Model.actuator
TRANSMISSION, DYNAMICS = range(2)
# transmissions. JOINTS: L is positions times factors, summed, times the gear. BALL_JOINT: L is
# the gear's product with the rotation vector; the gear is in child axes, or in parent axes
# (BALL_IN_PARENT). WRENCH: force and torque at a place, in its axes; L is 0. PLACES: position and
# rotation vector of a place in the axes of another one. CRANK: slider position for a crank pin
JOINTS, BALL_JOINT, BALL_IN_PARENT, WRENCH, PLACES, CRANK = range(6)
# activation dynamics; EARLY is added where the force uses the activation after the step
NO_DYNAMICS, INTEGRATOR, FILTER, EXACT_FILTER = range(4)
EARLY = 4
# most joints in a transmission JOINTS
MOST_TERMS = 32
# columns in Model.actuator_place: the place, then the reference or the slider
FIRST_PLACE, SECOND_PLACE = 0, FRAME_SIZE
PLACES_SIZE = 2 * FRAME_SIZE
# columns in Model.actuator_gear: force or scalar, then torque; rod length [m]
GEAR_FORCE, GEAR_TORQUE, ROD = 0, 3, 6
GEAR_SIZE = 7
# columns in Model.actuator_law; GAIN: g0, g1, g2; BIAS: b0, b1, b2; TIME_CONSTANT [s];
# REST_LOWER, REST_UPPER: the law takes L as the distance from this range
GAIN, BIAS = 0, 3
CONTROL_LOWER, CONTROL_UPPER, FORCE_LOWER, FORCE_UPPER = range(6, 10)
ACTIVATION_LOWER, ACTIVATION_UPPER, TIME_CONSTANT = range(10, 13)
REST_LOWER, REST_UPPER = range(13, 15)
ACTUATOR_LAW_SIZE = 15
# columns in Workspace.actuator_line: force at the mid-step position and the start velocity; its
# loss per length and per length rate; implicit shares of these losses; squared factors over the
# joints' inertias, summed; these inertias
BASE, STIFFNESS, DAMPING, SPRING_SHARE, DAMPER_SHARE, MOBILITY, INERTIAS = range(7)
LINE_SIZE = INERTIAS + MOST_TERMS
