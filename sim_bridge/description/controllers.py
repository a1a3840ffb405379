"""Names of controllers for robots on the ROS graph."""

CONTROLLERS = ('pd', 'computed_torque', 'velocity', 'square')
# for a robot left to its motors or to other programs' controllers
NO_CONTROLLER = 'none'
