"""Simulated devices: what they read from the engine, and the noise they add."""
