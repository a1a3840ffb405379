"""Bags: what a simulator publishes and takes, written to rosbag2 files and read from them."""
