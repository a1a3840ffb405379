"""The service `query_state` of a trajectory controller, if control_msgs is installed."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

from sim_bridge.foundation.errors import SimBridgeError

if TYPE_CHECKING:
    from sim_bridge.ros.command.controllers import TrajectoryController
    from sim_bridge.ros.command.trajectories import Trajectories
    from sim_bridge.ros.process.guarded_node import GuardedMixin


def serve_query(
    node: GuardedMixin,
    service_type: Any,
    name: str,
    trajectories: Trajectories,
    controller: TrajectoryController,
) -> None:
    """
    Create the service: the desired motion of a controller's joints at a given time.

    service_type: control_msgs.srv.QueryTrajectoryState. name: service name.
    """

    def answer(request: Any, response: Any) -> Any:
        time_ns = request.time.sec * 1_000_000_000 + request.time.nanosec
        try:
            wanted = trajectories.query(controller, time_ns)
        except SimBridgeError as err:
            response.success, response.message = False, str(err)
            return response
        response.success, response.name = True, list(controller.joints)
        response.position, response.velocity, response.acceleration = wanted.tolist()
        return response

    node.create_service(service_type, name, answer)
