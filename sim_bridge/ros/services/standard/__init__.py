"""
The services and the action of ros-simulation's standard, simulation_interfaces.

Imports `entities` and `simulation_control` beside it, which do the work, `ros.session` and what
that may import.
"""

from sim_bridge.ros.services.standard.offer import offer_standard_services

__all__ = ['offer_standard_services']
