"""Checks that need no cluster: certificates, state file, history folder, web server. Nothing is left behind."""

import errno
import os
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from kafka_warden.check.results import Report
from kafka_warden.config import Config
from kafka_warden.errors import ConfigError, SinkError, SinkReason, StateError
from kafka_warden.history.parquet.folder import LOCK, Folder
from kafka_warden.settings.strict import Address
from kafka_warden.settings.tls import Validity, validity
from kafka_warden.state import StateFile
from kafka_warden.web.current import check_web_file
from kafka_warden.web.file import read_web_file

EXPIRES_SOON: Final = 14 * 86400.0
EXPIRES_SHARE: Final = 0.25
"""Seconds, and share of the lifetime, as in the alert KafkaWardenCertificateExpiring: both have to be left or less."""


def certificates(config: Config) -> dict[str, tuple[Path | str, Validity | None]]:
    """Return where certificates of the exporter are, by the option that names them, and how long they are valid."""
    tls, files = config.kafka.settings.tls, {"jmx.tls.cert_file": config.jmx.tls.cert_file}
    with suppress(ConfigError):  # KW-WEB-FILE reports it
        web = read_web_file(config.web.config_file).tls if config.web.config_file is not None else None
        files["tls_server_config.cert_file"] = web.cert_file if web is not None else None
    valid: dict[str, tuple[Path | str, Validity | None]] = {
        option: (path, validity(path)) for option, path in files.items() if path is not None
    }
    if tls is not None and tls.files.identity is not None:
        valid["kafka.ssl.certificate.pem"] = "in the configuration", tls.validity()
    elif tls is not None and (path := tls.files.certificate) is not None:
        valid["kafka.ssl.certificate.location"] = path, tls.validity()
    return valid


def check_local(config: Config, report: Report) -> None:
    """Check files and addresses of this machine."""
    for option, (where, valid) in certificates(config).items():
        if valid is None:
            continue  # whatever reads the file reports it
        days, fix = (valid.end - time.time()) / 86400, f"renew the certificate {where}"
        if days < 0:
            report.error("KW-CERTIFICATE", option, f"the certificate expired {-days:.1f} days ago", fix)
        elif days * 86400 < min(EXPIRES_SOON, EXPIRES_SHARE * valid.lifetime):
            report.warning("KW-CERTIFICATE", option, f"the certificate expires in {days:.1f} days", fix)
        else:
            report.ok("KW-CERTIFICATE", option, f"the certificate is valid for {days:.0f} days")
    _check_state(config.state.path, report)
    if config.history.parquet.path is not None:
        _check_history(config.history.parquet.path, report)
    if (file := config.web.config_file) is not None:
        try:
            check_web_file(file)
        except ConfigError as problem:
            report.error("KW-WEB-FILE", str(file), str(problem), "correct the file (docs/reference/configuration.md)")
        else:
            report.ok("KW-WEB-FILE", str(file), "can be used, with the files that it names")
    _check_listen(config.web.listen, report)


def _check_state(path: Path, report: Report) -> None:
    try:
        StateFile(path).probe()
    except StateError as problem:
        fix = "remove it, or set state.path to another file; all ages start at 0"
        report.warning("KW-STATE", str(path), f"the state file cannot be used: {problem}", fix)
    except OSError as problem:
        fix = f"let this user write to the folder {path.parent}, or set state.path to another file"
        if problem.errno == errno.ENOENT:
            fix = f"make the folder {path.parent} for this user, or set state.path to another file"
        if problem.errno in (errno.ENOSPC, errno.EDQUOT):
            fix = f"free some space on the disk of {path.parent}, or set state.path to a file on another disk"
        text = f"the state file cannot be written: {problem.strerror or problem}"
        report.error("KW-STATE", str(path), text, fix)
    else:
        report.ok("KW-STATE", str(path), "the folder can be written")


def _check_history(path: Path, report: Report) -> None:
    """Check the folder as the exporter does. One that does not exist is not made: it would belong to the wrong user."""
    code, where = "KW-HISTORY-FOLDER", str(path)
    fix = "set history.parquet.path to a folder that this user can write, on a disk with space"
    try:
        existing = next(each for each in (path, *path.absolute().parents) if each.exists())
        locked_before = (path / LOCK).exists()
    except OSError as problem:  # such as a folder that this user may not search
        report.error(code, where, f"cannot be looked up: {problem.strerror}", fix)
        return
    if existing != path:
        if existing.is_dir() and os.access(existing, os.W_OK | os.X_OK):
            report.ok(code, where, f"will be made in {existing}")
        else:
            report.error(code, where, f"cannot be made in {existing}", fix)
        return
    folder = Folder(path)
    try:
        folder.check()
    except SinkError as problem:
        if problem.reason is SinkReason.IN_USE:
            report.warning(code, where, str(problem), "no action if that is the exporter of this configuration")
        else:
            report.error(code, where, str(problem), fix)
    else:
        report.ok(code, where, "the folder can be written, and the disk has space")
    finally:
        if folder.locked and not locked_before:
            (path / LOCK).unlink(missing_ok=True)
        folder.close()


def _check_listen(address: Address, report: Report) -> None:
    code, where = "KW-WEB-LISTEN", str(address)
    try:
        places = socket.getaddrinfo(
            address.host or None, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        socket.create_server(places[0][4], family=places[0][0]).close()
    except OSError as problem:
        if problem.errno == errno.EADDRINUSE:
            fix = "set web.listen to a free port, unless the exporter of this configuration runs already"
            report.warning(code, where, "another process listens there", fix)
        else:
            report.error(code, where, problem.strerror or str(problem), "set web.listen to an own address")
    else:
        report.ok(code, where, "free")
