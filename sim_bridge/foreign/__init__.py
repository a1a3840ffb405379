"""
Files from elsewhere, read under limits of size, time, memory and rights.

Imports `foundation`, and no other package. xacro and meshes are read by `reader_process`, whose
child runs `worker`, `confinement` and one of `xacro_reader` and `mesh_reader`.
"""
