"""A worker that sends the bare requests of a poll and makes nothing of the replies: what the protocol itself costs.

The requests are encoded and the replies decoded by kafka-python in every poll, over the same links as the sidecar's.
"""

import asyncio
