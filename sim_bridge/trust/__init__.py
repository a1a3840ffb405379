"""
Protection from other users of the machine: owner checks, private folders, child processes.

A file loaded as code, or trusted in another way, is read through `ownership`. It imports nothing
else from this project.
"""
