"""`python -m sandbox`: a cluster by hand, until Ctrl-C."""

import argparse
import signal
import sys
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import NoReturn

import yaml

from sandbox.cluster import Cluster
from sandbox.errors import SandboxError, SettingsError
from sandbox.settings import PROFILES, ClusterSettings, Security
from sandbox.sidecar import sidecar_config

USAGE_EXIT = 2
FAILURE_EXIT = 1
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Parser(argparse.ArgumentParser):
    """Reports an error in one line."""

    def error(self, message: str) -> NoReturn:
        """Exit with code 2."""
        self.exit(USAGE_EXIT, f"sandbox: {message}; see python -m sandbox --help\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Start a cluster, print how to reach it, stay until a signal, leave nothing behind."""
    parser = make_parser()
    options = parser.parse_args(arguments)
    try:
        settings = make_settings(options)
    except SettingsError as error:
        parser.error(str(error))
    for number in ENDING:
        signal.signal(number, _interrupt)
    try:
        with Cluster(settings) as cluster:
            print(describe(cluster), flush=True)
            signal.pause()
    except KeyboardInterrupt:
        return 0
    except SandboxError as error:
        print(f"sandbox: {error}", file=sys.stderr)
        return FAILURE_EXIT
    return 0


def make_parser() -> Parser:
    """The arguments, whose defaults are those of ClusterSettings."""
    usual = ClusterSettings()
    parser = Parser(prog="sandbox", description="A real Kafka cluster on loopback, until Ctrl-C.")
    parser.add_argument("--brokers", type=int, default=usual.brokers, metavar="N")
    parser.add_argument("--controllers", type=int, default=usual.controllers, metavar="N")
    parser.add_argument("--kafka", default=usual.version, metavar="VERSION", help="3.3.2 to 4.4.0 are tested")
    parser.add_argument("--profile", choices=PROFILES, default=usual.profile)
    parser.add_argument("--security", choices=[kind.value for kind in Security], default=usual.security.value)
    parser.add_argument("--log-dirs", type=int, default=usual.log_dirs, metavar="N", help="per broker")
    parser.add_argument("--no-tiered", action="store_true", help="tiered storage off")
    parser.add_argument("--no-jmx", action="store_true", help="JMX off")
    parser.add_argument("--jmx-password", action="store_true", help="JMX asks for a password")
    parser.add_argument("--jmx-tls", action="store_true", help="JMX over TLS")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="a server property of the brokers; repeatable"
    )
    return parser


def make_settings(options: argparse.Namespace) -> ClusterSettings:
    """Return the settings for the arguments.

    Raises:
        SettingsError: They are not valid.
    """
    wrong = [pair for pair in options.set if not pair.partition("=")[0].strip() or "=" not in pair]
    if wrong:
        raise SettingsError(f"--set takes KEY=VALUE, not {wrong[0]!r}")
    return ClusterSettings(
        brokers=options.brokers,
        controllers=options.controllers,
        version=options.kafka,
        profile=options.profile,
        security=Security(options.security),
        log_dirs=options.log_dirs,
        tiered=not options.no_tiered,
        jmx=not options.no_jmx,
        jmx_password=options.jmx_password,
        jmx_tls=options.jmx_tls,
        broker_properties=dict(pair.split("=", 1) for pair in options.set),
    )


def describe(cluster: Cluster) -> str:
    """Addresses and processes of the cluster, and a configuration for kafka-warden."""
    settings = cluster.settings
    lines = [
        f"# Kafka {settings.version}, {settings.security.value}, profile {settings.profile}",
        f"# bootstrap    {cluster.bootstrap}",
        f"# controllers  {_pairs(cluster.controller_addresses)}",
        f"# JMX          {_pairs(cluster.jmx_brokers | cluster.jmx_controllers) or 'off'}",
        f"# processes    {_pairs(cluster.pids())}",
        f"# files        {cluster.root}",
        "# Ctrl-C ends it and removes everything. A configuration for kafka-warden:",
        yaml.safe_dump(sidecar_config(cluster), sort_keys=False),
    ]
    return "\n".join(lines)


def _pairs(values: Mapping[int, object]) -> str:
    return "  ".join(f"{node}={value}" for node, value in values.items())


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    """End as Ctrl-C does; a second signal must not interrupt the clean-up."""
    for ending in ENDING:
        signal.signal(ending, signal.SIG_IGN)
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
