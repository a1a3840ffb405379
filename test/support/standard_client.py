"""
A client for the services of simulation_interfaces, in the version found by Python.

A request is a line of JSON, [service, fields of the request]; the response's fields are returned
as another line. A process has one version, so a test of a second version needs this client.
"""

from __future__ import annotations

import json
import sys

from plain_messages import fill, to_plain
from ros_graph import Graph
from simulation_interfaces import srv

from sim_bridge.ros.services.standard.interfaces import names_of

with Graph() as graph:
    for line in sys.stdin:
        kind, fields = json.loads(line)
        service = getattr(srv, kind)
        name = names_of(kind)[1].replace('~', '/sim_bridge')
        response = graph.call(service, name, fill(service.Request(), fields))
        print(json.dumps(to_plain(response)), flush=True)
