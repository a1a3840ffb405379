"""
Simulated devices: what they measure, the noise added, and the call that steps and samples.

Imports `engine` and `description.model`.
"""
