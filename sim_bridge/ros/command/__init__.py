"""
What is taken: commands, trajectories, controls of joints, lockstep.

Imports `ros.publish` and what that may import.
"""
