"""The table of what moves each panel: complete, and written as it is read."""

from tests.alerts import panels
from tests.alerts.faults import FAULTS


def test_every_query_has_its_fault() -> None:
    committed = panels.read()
    assert len(set(panels.every_query())) == len(panels.every_query())
    assert panels.FILE.read_text() == panels.render(committed), "ALERT_MATRIX=write make full-alerts writes it"
    assert {key for key, faults in committed.items() if not faults} == set()
    assert {fault for faults in committed.values() for fault in faults} <= {fault.name for fault in FAULTS}


def test_a_round_corrects_the_table() -> None:
    right, wrong, none, elsewhere = panels.every_query()[:4]
    before = {right: ("b",), wrong: ("a", "b", "other"), elsewhere: ("other",)}
    after = panels.recorded(before, ["a", "b"], {right, none, elsewhere})
    assert list(after) == panels.every_query()
    assert after[right] == ("b",)
    assert after[wrong] == ("other",)
    assert after[none] == ("a", "b")
    assert after[elsewhere] == ("other",)
