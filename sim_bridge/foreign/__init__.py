"""
Reading foreign files with limited size, time, memory and rights.

It imports `foundation`, and no other package. `reader_process` reads xacro, meshes and pictures in
a child process, which runs `worker`, `confinement` and a reader such as `xacro_reader` or
`mesh_reader`.
"""
