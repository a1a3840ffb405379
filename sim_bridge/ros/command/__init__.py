"""
Subscribed inputs: commands, trajectories, joint controls, lockstep.

Imports `ros.publish` and its dependencies.
"""
