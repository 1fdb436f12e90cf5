"""The dashboards, one question each."""

from grafana.boards.capacity import CAPACITY
from grafana.boards.cluster import CLUSTER
from grafana.boards.controller import CONTROLLER
from grafana.boards.fleet import FLEET
from grafana.boards.moves import MOVES
from grafana.boards.replicas import REPLICAS
from grafana.boards.sidecar import SIDECAR
from grafana.boards.throttles import THROTTLES
from grafana.boards.tiered import TIERED

BOARDS = (FLEET, CLUSTER, MOVES, THROTTLES, REPLICAS, CONTROLLER, TIERED, CAPACITY, SIDECAR)

__all__ = ["BOARDS"]
