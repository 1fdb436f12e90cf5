"""A served sidecar, and its certificate authority, as in the tests of the web server."""

from tests.web.conftest import authority, serve

__all__ = ["authority", "serve"]
