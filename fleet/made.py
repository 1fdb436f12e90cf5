"""Topics that are created during the history."""

from dataclasses import dataclass

import numpy as np

from fleet.topology import Topic


@dataclass(frozen=True, slots=True)
class Creation:
    """A new topic and its assignment."""

    at: float
    """Days after the first poll."""
    topic: Topic
    replicas: np.ndarray
    """(partitions, RF) broker ids."""
