"""
Services and action of the ros-simulation standard, simulation_interfaces.

Imports `entities` and `simulation_control` of `ros.services`, where the work is done, and
`ros.session` with its dependencies.
"""

from sim_bridge.ros.services.standard.offer import offer_standard_services

__all__ = ['offer_standard_services']
