"""
Messages as bytes: CDR, messages rewritten in place; QoS profiles of topics.

Imports no other package of `ros`.
"""
