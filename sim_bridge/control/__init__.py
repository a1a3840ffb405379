"""Controller nodes that are good enough to use: effort commands, one for each joint state."""
