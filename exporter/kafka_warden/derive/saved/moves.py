"""Tables of moves and of their flows: least remaining bytes, cause, last change."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kafka_warden.derive.flows.changes import Change, MoveKey, State
from kafka_warden.derive.flows.keys import FlowKey
from kafka_warden.derive.moves.moves import MovesMemory, Track
from kafka_warden.derive.moves.stuck import Stuck, StuckMemory, Together
from kafka_warden.derive.saved.values import Clock, Row, read_minimum, write_minimum
from kafka_warden.formulas.stuck import Cause


def write_moves(memory: MovesMemory, clock: Clock) -> tuple[list[Row], list[Row]]:
    """Write every move and every flow; flows refer to moves by their place in that table."""
    keys = sorted(memory.tracks)
    places = {key: place for place, key in enumerate(keys)}
    return [_write_move(memory, key, clock) for key in keys], _write_flows(memory, places, clock)


def _write_move(moves: MovesMemory, key: MoveKey, clock: Clock) -> Row:
    topic_id, topic, partition, broker = key
    fact, polls = moves.stuck.facts.get(key, (None, 0))
    stuck = moves.stuck.shown.get(key)
    return {
        "topic": topic,
        "topic_id": topic_id.hex(),
        "partition": partition,
        "broker": broker,
        "least": write_minimum(moves.tracks[key].minimum, clock),
        "fact": fact,
        "fact_polls": polls,
        "cause": None if stuck is None else stuck.cause,
        "stuck_at": None if stuck is None else clock.write(stuck.since),
    }


def _write_flows(moves: MovesMemory, places: Mapping[MoveKey, int], clock: Clock) -> list[Row]:
    return [
        {
            "target": flow.target,
            "leader": flow.leader,
            "least": write_minimum(together.minimum, clock),
            "errors": together.errors,
            "moves": sorted(places[key] for key in together.moves if key in places),
            "changed_at": clock.write(change.at),
            # JSON has no infinity.
            "limits": ["unlimited" if limit == np.inf else limit for limit in change.limits],
            "throttled": {str(places[key]): list(state) for key, state in change.moves.items()},
        }
        for flow, together in moves.stuck.flows.items()
        if (change := moves.changes.get(flow)) is not None
    ]


def read_moves(rows: Sequence[Row], flow_rows: Sequence[Row], clock: Clock) -> MovesMemory:
    """Read them back."""
    keys = [(bytes.fromhex(row["topic_id"]), row["topic"], row["partition"], row["broker"]) for row in rows]
    flows = {_flow_key(row): row for row in flow_rows}
    return MovesMemory(
        tracks={key: Track(minimum=read_minimum(row["least"], clock)) for key, row in zip(keys, rows, strict=True)},
        changes={flow: _read_change(row, keys, clock) for flow, row in flows.items()},
        stuck=StuckMemory(
            flows={
                flow: Together(
                    frozenset(keys[place] for place in row["moves"]),
                    read_minimum(row["least"], clock),
                    None if row["errors"] is None else float(row["errors"]),
                )
                for flow, row in flows.items()
            },
            facts={key: (_cause(row["fact"]), int(row["fact_polls"])) for key, row in zip(keys, rows, strict=True)},
            shown={
                key: Stuck(cause, clock.read(row["stuck_at"]))
                for key, row in zip(keys, rows, strict=True)
                if (cause := _cause(row["cause"])) is not None
            },
        ),
    )


def _flow_key(row: Row) -> FlowKey:
    # The lists name all moves of a flow alike.
    states = [_state(state) for state in row["throttled"].values()]
    leader_listed, follower_listed = (any(state[side] for state in states) for side in (0, 1))
    return FlowKey(int(row["target"]), int(row["leader"]), leader_listed, follower_listed)


def _cause(name: str | None) -> Cause | None:
    return None if name is None else Cause(name)


def _read_change(row: Row, keys: Sequence[MoveKey], clock: Clock) -> Change:
    leader, target = (np.inf if limit == "unlimited" else limit for limit in row["limits"])
    moves = {keys[int(place)]: _state(state) for place, state in row["throttled"].items()}
    return Change((leader, target), moves, clock.read(row["changed_at"]))


def _state(state: Sequence[Any]) -> State:
    by_leader, by_follower, in_isr = state
    return bool(by_leader), bool(by_follower), bool(in_isr)
