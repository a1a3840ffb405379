"""
Services and actions: pause, step, reset, spawn, in std_srvs' and the standard's messages.

Imports `ros.session` and below.
"""
