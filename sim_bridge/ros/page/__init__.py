"""
The live page of the node: frames and texts for it, and what is wished there.

Imported only where the parameter `view` is set. What is wished goes the way of services, command
topics and parameters, so that it is in a recording.
"""
