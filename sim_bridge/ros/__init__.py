"""The ROS 2 layer: a node that paces the library and publishes what a real robot's drivers would publish."""
