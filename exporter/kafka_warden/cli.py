"""The command line: reads flags and configuration, then runs the command."""

import argparse
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from kafka_warden.config import FLAGS, OPTIONS, Config, config_file, load
from kafka_warden.config.types import BOOTSTRAP
from kafka_warden.errors import IncompleteError, JobError, UnusableError
from kafka_warden.installed import check_history, check_installed, version
from kafka_warden.lifecycle import Signals
from kafka_warden.log import complain, flush, write
from kafka_warden.settings.secrets import FileWatch, scrub

BAD_CONFIGURATION: Final = 2
"""Exit code for bad flags (as in argparse), options, plans and history files."""

INCOMPLETE: Final = 3
"""Exit code of a plan, and of `top` that prints once, when data from the cluster or its history is missing."""

GAVE_UP: Final = 4
"""Exit code of a pipeline job that failed in Spark. 1 is the code of a plan that is not possible."""

INTERRUPTED: Final = 130
"""Exit code after Ctrl-C, as in shells."""

_CODES: Final[Mapping[type[Exception], int]] = {
    UnusableError: BAD_CONFIGURATION,
    IncompleteError: INCOMPLETE,
    JobError: GAVE_UP,
}
PIPELINE: Final = "pipeline"
AddCommand = Callable[..., argparse.ArgumentParser]

_EPILOGUE: Final = (
    "Every option of the file can also be set in the environment: poll.interval is KAFKA_WARDEN_POLL_INTERVAL."
    " A flag overrides the environment, and the environment overrides the file. Secrets come from files or the"
    " environment only."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code. `arguments` are by default those of the process."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        if list(arguments[:1]) == [PIPELINE]:
            return _pipeline(arguments[1:])
        return _run(_parsed(arguments))
    except tuple(_CODES) as failure:
        complain(f"kafka-warden: {' '.join(str(failure).split())}")
        return next(code for kind, code in _CODES.items() if isinstance(failure, kind))
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception:  # noqa: BLE001  # Python's own exit code for it is 1, which is a verdict of plan and check
        complain(scrub(traceback.format_exc().rstrip()))
        complain("kafka-warden: this is a bug: please report the lines above")
        return os.EX_SOFTWARE
    finally:
        flush()  # of --help, too


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = _parser()
    parsed, unknown = parser.parse_known_args(arguments)
    if unknown:
        # argparse would print values, and one may be a password for a flag that does not exist.
        flags = [argument.partition("=")[0] for argument in unknown if argument.startswith("-")]
        parser.error(f"unrecognized arguments: {' '.join(flags) or 'arguments after the command'}")
    return parsed


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="kafka-warden",
        description="Prometheus exporter with alerts for Apache Kafka. It only reads; a topic of history is optional.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"kafka-warden {version()}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    add = partial(commands.add_parser, epilog=_EPILOGUE, allow_abbrev=False)
    run = add("run", help="poll a cluster and serve /metrics", description="Poll a cluster and serve /metrics.")
    _add_option_flags(run, "run")
    run.add_argument("--check-config", action="store_true", help="check the configuration and its files, then exit")
    _add_plan(add)
    _add_check(add)
    _add_top(add)
    _add_mcp(add)
    _add_rules(add)
    # The flags of the jobs need Spark.
    commands.add_parser(PIPELINE, help="Spark jobs over the history", add_help=False)
    return parser


def _add_option_flags(command: argparse.ArgumentParser, name: str) -> None:
    command.add_argument("--config", type=Path, metavar="FILE", help="configuration file, YAML")
    command.add_argument(BOOTSTRAP.name, metavar=BOOTSTRAP.metavar, help=BOOTSTRAP.help)
    for option in OPTIONS:
        if option.flag is not None and (name == "check" or name in option.flag.commands):
            flag = option.flag
            default = (flag.plan_default if name == "plan" else None) or option.default
            note = "" if default is None else f" (default: {default})"
            command.add_argument(flag.name, metavar=flag.metavar, help=flag.help + note)


def _add_plan(add: AddCommand) -> None:
    plan = add(
        "plan",
        help="recommend a throttle for a reassignment, or check whether a topic fits",
        description="Print the recommended throttle for a reassignment, whether a topic fits, or the reassignments in"
        " progress. Changes nothing. Exit codes: 0 possible, 1 not possible, does not fit, or nothing is in progress,"
        " 2 bad input, 3 data from the cluster is missing.",
    )
    _add_option_flags(plan, "plan")
    plan.add_argument("--reassignment", type=Path, metavar="FILE", help="JSON of kafka-reassign-partitions")
    plan.add_argument("--deadline", metavar="DURATION", help="time limit of the move (default: moves.deadline)")
    plan.add_argument("--max-network-share", metavar="SHARE", help="share of one broker's network, such as 30%%")
    plan.add_argument("--measure", metavar="DURATION", help="how long to measure the inbound rate (default: 36s)")
    plan.add_argument(
        "--inbound", type=Path, metavar="FILE", help="inbound rates of kafka-warden pipeline plan --inbound"
    )
    plan.add_argument("--rollback", type=Path, metavar="FILE", help="write the current assignment to this file")
    plan.add_argument(
        "--current", action="store_true", help="print the reassignments in progress as such JSON; plans nothing"
    )
    plan.add_argument("--topic", metavar="NAME", help="topic to create, or to add partitions to")
    plan.add_argument("--partitions", metavar="NUMBER", help="partitions of that topic at the end")
    plan.add_argument("--replication-factor", metavar="NUMBER", help="replication factor of a new topic")
    plan.add_argument("--output", choices=("text", "json"), default="text", help="format of the result (default: text)")


def _add_check(add: AddCommand) -> None:
    check = add(
        "check",
        help="check everything that run needs, and name what is wrong",
        description="Check configuration, connection, login, rights, JMX, files and web file, with the configuration of"
        " run. Changes nothing in the cluster. Exit codes: 0 no errors, 1 errors, 2 bad flags, 3 warnings with"
        " --fail-on warning, 4 something could not be checked.",
    )
    _add_option_flags(check, "check")
    check.add_argument("--only", metavar="CODES", help="report only these checks, such as KW-ACL,KW-JMX")
    check.add_argument("--skip", metavar="CODES", help="do not report these checks")
    check.add_argument("--fail-on", choices=("warning", "error"), default="error", help="default: error")
    check.add_argument("--wait", metavar="DURATION", help="repeat until there are no errors, but no longer than this")
    check.add_argument("--json", action="store_true", help="print one JSON document")


def _add_top(add: AddCommand) -> None:
    top = add(
        "top",
        help="show moves, throttles, replicas and problems on the terminal",
        description="Show what the status page shows on the terminal: of a running exporter, by default that of this"
        " machine, or of a cluster that it polls by itself, with --bootstrap-servers or --config. Exit codes: 0 ended"
        " or printed, 2 bad flags, 3 printed once without fresh data, 130 Ctrl-C.",
        epilog="Flags of options, and the environment variables of run, count only where it polls by itself. The"
        " password for --user comes from a file or from KAFKA_WARDEN_TOP_PASSWORD only.",
    )
    _add_address(top)
    top.add_argument("--every", default="5s", metavar="DURATION", help="time between two readings (default: 5s)")
    top.add_argument("--once", action="store_true", help="print the tables once; the default without a terminal")
    top.add_argument("--json", action="store_true", help="print one JSON document")
    top.add_argument("--table", metavar="NAME", help="table to show first, or the only one to print, such as moves")
    top.add_argument("--rows", metavar="NUMBER", help="rows to print of each table (default: 20, and all with --json)")
    top.add_argument("--filter", default="", metavar="TEXT", help="show rows with this text, or with field=value")
    top.add_argument("--sort", metavar="FIELD", help="order of the rows of --table: the largest first, texts from A")
    top.add_argument("--reverse", action="store_true", help="turn the order round")
    _add_option_flags(top, "top")


def _add_address(command: argparse.ArgumentParser) -> None:
    command.add_argument("--url", metavar="URL", help="address of the exporter (default: http://127.0.0.1:10073)")
    command.add_argument("--user", metavar="NAME", help="user of basic authentication")
    command.add_argument("--password-file", metavar="FILE", help="file with the password")
    command.add_argument("--ca", metavar="FILE", help="certificates to trust, PEM (default: those of the system)")
    command.add_argument("--cert", metavar="FILE", help="client certificate, PEM")
    command.add_argument("--key", metavar="FILE", help="key of the client certificate")


def _add_mcp(add: AddCommand) -> None:
    mcp = add(
        "mcp",
        help="answer the questions of an assistant (Model Context Protocol)",
        description="Serve read-only tools of the Model Context Protocol on standard input and output, for an"
        " assistant that starts this command: problems, moves, replicas, tables and runbooks of a running exporter, and"
        " with --config plans. Exit codes: 0 the client ended it, 2 bad flags or the extra is not installed.",
        epilog="The password for --user comes from a file or from KAFKA_WARDEN_TOP_PASSWORD only.",
    )
    _add_address(mcp)
    mcp.add_argument("--config", type=Path, metavar="FILE", help="configuration file of run, for plans")


def _add_rules(add: AddCommand) -> None:
    rules = add(
        "rules",
        help="print the alert rules for Prometheus, with your thresholds, severities and labels",
        description="Print the alert rules for Prometheus as one file, or write them as files, with your changes"
        " (docs/how-to/alert-rules.md), and on standard error the longest time from each fault to its alert."
        " Asks no cluster. Exit codes: 0 written, 2 bad flags or a file that cannot be used.",
        epilog=None,
    )
    rules.add_argument("--values", type=Path, metavar="FILE", help="what to change, YAML")
    rules.add_argument("--out", type=Path, metavar="DIR", help="write *.rules.yml into this folder")
    rules.add_argument("--delays", action="store_true", help="print the times from faults to alerts only")


def _pipeline(arguments: Sequence[str]) -> int:
    for library in ("pyspark", "pyarrow", "pandas", "promql_parser"):
        check_installed(PIPELINE, library, "spark")
    from kafka_warden.pipeline import cli  # noqa: PLC0415  # needs the libraries

    return cli.main(arguments)


def _rules(parsed: argparse.Namespace) -> int:
    from kafka_warden.rules import command as rules  # noqa: PLC0415  # other commands need no templates

    return rules.run(parsed.values, parsed.out, only_delays=parsed.delays)


def _mcp(parsed: argparse.Namespace) -> int:
    check_installed("mcp", "mcp", "mcp")
    from kafka_warden import mcp_server  # noqa: PLC0415  # needs the library

    return mcp_server.run(vars(parsed), os.environ)


def _run(parsed: argparse.Namespace) -> int:
    if (separate := {"rules": _rules, "mcp": _mcp}.get(parsed.command)) is not None:
        return separate(parsed)
    # Not needed for --help and --version.
    from kafka_warden.web.current import check_web_file  # noqa: PLC0415

    values = {flag: getattr(parsed, flag[2:].replace("-", "_"), None) for flag in FLAGS}
    flags = {flag: value for flag, value in values.items() if value is not None}
    read_config = partial(load, flags, os.environ, parsed.config)
    if parsed.command == "plan":
        from kafka_warden.planning import command  # noqa: PLC0415  # the same

        return command.run(read_config, vars(parsed))

    if parsed.command == "check":
        from kafka_warden.check import command as doctor  # noqa: PLC0415  # the same

        return doctor.run(read_config, vars(parsed))

    if parsed.command == "top":
        from kafka_warden.top import command as top  # noqa: PLC0415  # the same

        return top.run(read_config, vars(parsed), flags, os.environ)

    def read_all() -> Config:
        config = read_config()
        if config.web.config_file is not None:
            check_web_file(config.web.config_file)
        check_history(config)
        return config

    if parsed.check_config:
        read_all()
        write("kafka-warden: the configuration is fine\n")
        return 0
    # Before all that takes time: by default SIGHUP ends the process, and in a container SIGTERM does not.
    signals = Signals()
    path = config_file(parsed.config, os.environ)
    file = FileWatch(() if path is None else (path,))
    config = read_all()
    from kafka_warden import app  # noqa: PLC0415  # a check does not need it

    return app.run(config, read_all, file, signals)


if __name__ == "__main__":
    sys.exit(main())
