"""What of the memory survives a restart."""

from kafka_warden.derive.saved.document import Document, from_document, to_document

__all__ = ["Document", "from_document", "to_document"]
