"""One file per question: builds the request, and a pure `parse_*` turns the reply into tables of the model."""
