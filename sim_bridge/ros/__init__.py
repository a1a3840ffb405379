"""The ROS 2 layer: a node that paces the library and stands in for a real robot's drivers."""
