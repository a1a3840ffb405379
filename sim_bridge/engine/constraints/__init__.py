"""
Joints that are solved as constraint rows: closed loops, compliant joints, angular motors.

Imports `engine.contact` for the rows of contacts that they share a solve with, and what that may
import.
"""
