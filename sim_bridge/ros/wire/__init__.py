"""
Serialized messages: CDR, messages rewritten in place, QoS profiles.

Imports no other package of `ros`.
"""
