"""Panels that stay at 0 under every fault that a test can cause, with the reason."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Quiet:
    """A panel, or one query of it, that may always show 0.

    Attributes:
        board: Name of the dashboard.
        panel: Title of the panel.
        legend: Legend or column of the query; all queries of the panel when empty.
        reason: Why it stays 0.
    """

    board: str
    panel: str
    legend: str
    reason: str


ZERO_BY_NATURE: Final = (
    Quiet(
        "replicas",
        "Unclean leader elections",
        "",
        "only where unclean.leader.election.enable allows the loss of records",
    ),
    Quiet(
        "tiered", "Bytes to delete", "", "deleted within a round of the expiration task, unless deleting itself fails"
    ),
    Quiet("tiered", "Errors over time", "deletions", "a deletion that fails is tried again before it counts for long"),
    Quiet("tiered", "Allowed copy lag, by topic", "", "Kafka before 4.4, which the rounds use, copies at once"),
    Quiet("capacity", "Log directories", "Cordoned", "Kafka before 4.3, which the rounds use, has no cordoned ones"),
    Quiet("sidecar", "Unknown lags and topics", "topics refused to {{instance}}", "the rounds take no ACL away"),
    Quiet("sidecar", "Refused logins", "", "no round sends a wrong password"),
    Quiet("capacity", "Missing and stray logs", "", "thousands of logs have to be created or deleted at once"),
)


def zero_by_nature(board: str, panel: str, legend: str) -> str:
    """Return why a query of a panel may stay 0; empty if it must not."""
    fitting = (quiet for quiet in ZERO_BY_NATURE if (quiet.board, quiet.panel) == (board, panel))
    return next((quiet.reason for quiet in fitting if quiet.legend in {"", legend}), "")
