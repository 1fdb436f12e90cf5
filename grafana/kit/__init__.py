"""How every dashboard here looks and asks: queries, panels, tables, links, and the page around them."""
