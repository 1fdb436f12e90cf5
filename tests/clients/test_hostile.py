"""A sidecar beside a broker that answers badly: the program that users start, as `bench.hostile` runs it."""

import pytest

from bench.hostile import measure

POLLS, INTERVAL = 4, 3.0


@pytest.mark.realtime
@pytest.mark.parametrize("how", ["length prefix only", "1 MB of 0xFF before login", "mutated replies"])
def test_a_hostile_broker_costs_its_own_numbers_only(how: str) -> None:
    rows = measure(how, POLLS, INTERVAL)
    assert rows[2].measured > 0
    assert rows[3].measured >= POLLS
    assert all(row.reached for row in rows), rows
