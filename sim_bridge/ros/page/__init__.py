"""
The node's live page: its frames, texts and user requests.

Imported only if the parameter `view` is set. Requests go through services, command topics and
parameters, so they appear in recordings.
"""
