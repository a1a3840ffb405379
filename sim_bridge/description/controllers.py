"""Names of the controllers that may move a robot on the graph."""

CONTROLLERS = ('pd', 'computed_torque', 'velocity', 'square')
# of a robot that is left to its motors, or to others
NO_CONTROLLER = 'none'
