"""HTTP: the page that was rendered once per poll, served from bytes. Nothing is rendered or asked on a request."""
