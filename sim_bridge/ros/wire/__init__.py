"""
Messages as bytes: CDR, messages rewritten in place; qualities of service of topics.

Imports no other room of `ros`.
"""
