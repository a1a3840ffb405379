"""
The stepper: dynamics, collision, contact and constraints in kernels over plain arrays.

Imports numpy, `sim_bridge.compiler` and `sim_bridge.foundation` only: no ROS, XML, files or
logging.
"""
