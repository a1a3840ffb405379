"""Controller nodes that are good enough to use: joint space, effort commands, one answer to each joint state."""
