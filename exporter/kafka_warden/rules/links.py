"""What the alerts link to: the runbook of each, and the dashboard of its subject for its cluster."""

import re
from dataclasses import dataclass
from typing import Final

DASHBOARDS: Final = {
    "brokers": "replicas",
    "cluster": "fleet",
    "controller": "controller",
    "disks": "capacity",
    "limits": "capacity",
    "moves": "moves",
    "replicas": "replicas",
    "sidecar": "sidecar",
    "throttles": "throttles",
    "tiered": "tiered",
}
"""Subject of a rule file to the dashboard that shows it."""

_RUNBOOK: Final = re.compile(r"^( *)runbook_url: (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Links:
    """What links begin with; empty: links are paths.

    Attributes:
        runbooks: Before `alerts/runbooks/`.
        grafana: Before `/d/`.
    """

    runbooks: str = ""
    grafana: str = ""

    def added(self, text: str, subject: str) -> str:
        """Return the rules of a subject with the addresses of their runbooks and of its dashboard."""
        # urlquery is a function of Go's templates.
        board = f"/d/kafka-warden-{DASHBOARDS.get(subject)}?var-cluster={{{{ $labels.cluster | urlquery }}}}"
        return _RUNBOOK.sub(
            lambda found: (
                f"{found[1]}runbook_url: {self.runbooks}{found[2]}\n{found[1]}dashboard_url: '{self.grafana}{board}'"
            ),
            text,
        )
