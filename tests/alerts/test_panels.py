"""Every query of the dashboards has its fault."""

from tests.alerts import panels
from tests.alerts.faults import FAULTS
from tests.support.dashboards import targets


def test_every_query_has_its_fault() -> None:
    committed, queries = panels.read(), [str(target) for target in targets()]
    assert len(set(queries)) == len(queries)
    assert list(committed) == queries, "ALERT_MATRIX=write make full-alerts writes recorded/panels.json"
    assert {query for query, faults in committed.items() if not faults} == set()
    assert {fault for faults in committed.values() for fault in faults} <= {fault.name for fault in FAULTS}


def test_a_round_corrects_what_is_known() -> None:
    right, wrong, none, elsewhere = targets()[:4]
    before = {str(right): ["b"], str(wrong): ["a", "b", "other"], str(elsewhere): ["other"]}
    after = panels.recorded(before, ["a", "b"], {right.key, none.key, elsewhere.key})
    assert list(after) == [str(target) for target in targets()]
    assert after[str(right)] == ["b"]
    assert after[str(wrong)] == ["other"]
    assert after[str(none)] == ["a", "b"]
    assert after[str(elsewhere)] == ["other"]
