"""
Services and actions: pause, step, reset, spawn, with std_srvs and simulation_interfaces messages.

Imports `ros.session` and below.
"""
