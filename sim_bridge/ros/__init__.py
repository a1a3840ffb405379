"""
The ROS 2 layer: a node that paces the library and stands in for a real robot's drivers.

Imports the library below it; nothing below imports `sim_bridge.ros`.
"""
