"""Names of the controllers that can move a robot on the ROS graph."""

CONTROLLERS = ('pd', 'computed_torque', 'velocity', 'square')
# for a robot left to its motors or to controllers of other programs
NO_CONTROLLER = 'none'
