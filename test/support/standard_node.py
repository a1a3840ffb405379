"""
The simulator node with stand-ins for the services of the standard: `standard_node.py VERSION ...`.

What a client would ask for comes as a line of JSON, [service, request], and so does the answer.
Everything but the transport of these is as in the node: a request is carried out on the physics
thread. Further arguments are those of the node.
"""

from __future__ import annotations

import json
import sys
import threading

from simulation_messages import fill, make_interfaces, to_plain

from sim_bridge.ros.node import main, node
from sim_bridge.ros.process import deferred
from sim_bridge.ros.services.standard import offer

handlers = {}
is_ready = threading.Event()
interfaces = make_interfaces(sys.argv[1])


class Services(deferred.DeferredServices):
    """Keeps the handlers of stand-ins, of which ROS cannot make services."""

    def create(self, kind, name, handler, refuse):
        """Keep a stand-in's handler; create a real service."""
        if not hasattr(kind, 'NAME'):
            super().create(kind, name, handler, refuse)
            return
        handlers[kind.NAME] = self, kind, handler, refuse
        if len(handlers) == len(vars(interfaces.srv)):
            is_ready.set()


def serve() -> None:
    """Carry out what comes on standard input, one request at a time."""
    is_ready.wait()
    for line in sys.stdin:
        name, values = json.loads(line)
        services, kind, handler, refuse = handlers[name]
        request, done = fill(kind.Request(), values), threading.Event()

        def answer(response, done=done):
            print('answer', json.dumps(to_plain(response)), flush=True)
            done.set()

        services.take(kind, request, handler, refuse, answer)
        done.wait()


offer.installed_interfaces = lambda: interfaces
node.DeferredServices = Services
threading.Thread(target=serve, daemon=True).start()
sys.exit(main.main([sys.argv[0], *sys.argv[2:]]))
