"""Everything that the status page and `/api/v1` show, as immutable rows made from one snapshot."""

from kafka_warden.views.build import make_views
from kafka_warden.views.recent import Recent
from kafka_warden.views.rows import Views

__all__ = ["Recent", "Views", "make_views"]
