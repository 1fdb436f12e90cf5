"""What of the memory survives a restart."""

from exporter.derive.saved.document import Document, from_document, to_document

__all__ = ["Document", "from_document", "to_document"]
