"""Joints that close loops: what the trees do not have, as rows that are solved exactly."""
