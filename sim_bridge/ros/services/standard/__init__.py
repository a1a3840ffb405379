"""The services and the action of ros-simulation's standard, simulation_interfaces."""

from sim_bridge.ros.services.standard.offer import offer_standard_services

__all__ = ['offer_standard_services']
