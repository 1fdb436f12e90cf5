"""The status page: templates, assets, and how rows become text."""
