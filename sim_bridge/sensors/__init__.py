"""
Simulated devices: sensor readings, noise, and the call for steps and samples.

Imports `engine` and `description`.
"""
