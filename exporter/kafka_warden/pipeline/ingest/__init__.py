"""Takes each row of the landing zone once into the raw tables of a store (docs/pipeline-store.md)."""
