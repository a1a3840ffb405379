"""
A client of the services of simulation_interfaces, in whichever version Python finds.

What to ask for comes as a line of JSON, [service, fields of the request]; the fields of the
response go back as another. A process has one version, so that a test of a second one needs this.
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
