"""Control modes for axis motors."""

from __future__ import annotations

import numpy as np

from sim_bridge.engine.data.state import BY_EFFORT, BY_POSITION, BY_SERVO, BY_VELOCITY

CONTROLS = {
    'effort': BY_EFFORT,
    'velocity': BY_VELOCITY,
    'position': BY_POSITION,
    'servo': BY_SERVO,
}
CONTROL_NAMES = {number: name for name, number in CONTROLS.items()}

# columns in State.target, and numbers of the control modes reading each column
POSITION, VELOCITY = range(2)
FITTING = np.array(
    [
        [number in going for number in range(len(CONTROLS))]
        for going in ({BY_POSITION, BY_SERVO}, {BY_VELOCITY, BY_POSITION, BY_SERVO})
    ]
)
