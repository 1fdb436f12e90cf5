"""Polls a cluster: order of questions, deadlines, cadence, last good answers, remembered brokers."""

from kafka_warden.poller.asking import PollerSettings
from kafka_warden.poller.beans import SHOWN_FOR
from kafka_warden.poller.poller import Poller

__all__ = ["SHOWN_FOR", "Poller", "PollerSettings"]
