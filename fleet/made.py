"""What is made in a cluster while it lives."""

from dataclasses import dataclass

import numpy as np

from fleet.topology import Topic


@dataclass(frozen=True, slots=True)
class Creation:
    """A topic that is made, and where."""

    at: float
    """Days after the first poll."""
    topic: Topic
    replicas: np.ndarray
    """(partitions, RF) broker ids."""
