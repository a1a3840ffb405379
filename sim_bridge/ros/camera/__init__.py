"""
The node's cameras: a process renders and publishes them.

rclpy holds the interpreter's lock while it publishes, so the physics process sends no images. Its
thread writes body poses to the camera process (`feed`), which renders them (`process`). May import
`process`, `wire` and everything below.
"""
