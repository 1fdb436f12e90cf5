"""How values are read strictly: secrets, addresses, ciphers. Shared by the configuration, the clients and the web."""
