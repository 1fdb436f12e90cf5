"""KIP-73's throttles: limits, lists and the traffic that counts against them (docs/spec/throttles.md)."""
