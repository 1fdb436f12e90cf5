"""Polls a cluster: order of questions, deadlines, cadence, last good answers, remembered brokers."""

from kafka_warden.poller.poller import SHOWN_FOR, Poller, PollerSettings

__all__ = ["SHOWN_FOR", "Poller", "PollerSettings"]
