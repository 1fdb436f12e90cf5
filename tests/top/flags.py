"""The flags of the command, as argparse makes them."""

from typing import Any

from kafka_warden.cli import _parser


def flags(*arguments: str, **values: Any) -> dict[str, Any]:
    return {**vars(_parser().parse_args(["top", *arguments])), **values}
