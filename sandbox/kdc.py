"""MIT's KDC from Debian's packages on loopback, without root, and the package gssapi built against its library.

Both are kept in the cache. Processes use them by the variables of `Kdc.environment`.
"""

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from sandbox.debian import download, run, unpack
from sandbox.errors import SandboxError
from sandbox.jars import cached
from sandbox.program import Program

REALM = "WARDEN.TEST"
PACKAGES = (
    *("krb5-kdc", "krb5-admin-server", "krb5-multidev", "libkrb5-dev", "comerr-dev"),
    *("libgssapi-krb5-2", "libkrb5-3", "libkrb5support0", "libk5crypto3", "libkeyutils1", "libcom-err2"),
    *("libgssrpc4", "libkadm5clnt-mit12", "libkadm5srv-mit12", "libkdb5-10"),
    *("libverto1", "libverto-libev1", "libev4"),
)
CONSTRAINTS = Path(__file__).resolve().parents[1] / "constraints.txt"
MASTER_PASSWORD = "of a database that lives as long as a test"  # noqa: S105

_KRB5 = """\
[libdefaults]
 default_realm = {realm}
 dns_lookup_kdc = false
 dns_lookup_realm = false
 dns_canonicalize_hostname = false
 rdns = false
 udp_preference_limit = 1
[realms]
 {realm} = {{
  kdc = {address}
 }}
"""
_KDC = """\
[kdcdefaults]
 kdc_listen = {address}
 kdc_tcp_listen = {address}
[realms]
 {realm} = {{
  database_name = {directory}/principal
  key_stash_file = {directory}/stash
  acl_file = {directory}/acl
 }}
[dbmodules]
 db_module_dir = {libraries}/krb5/plugins/kdb
 {realm} = {{
  db_library = db2
 }}
"""


class Kdc(Program):
    """The KDC of `REALM`; a context manager."""

    def __init__(self, directory: Path) -> None:
        super().__init__("krb5kdc", directory)
        self.root = cached("kerberos-debian", _fetch)
        self.libraries = next(self.root.glob("usr/lib/*/libgssapi_krb5.so.2")).parent
        self.config = directory / "krb5.conf"
        self._kdc_config = directory / "kdc.conf"

    @property
    def environment(self) -> dict[str, str]:
        """Variables of a process that logs in: library and configuration."""
        return {"LD_LIBRARY_PATH": os.fspath(self.libraries), "KRB5_CONFIG": os.fspath(self.config)}

    def command(self) -> Sequence[str]:
        """The KDC in the foreground."""
        variables = [f"{name}={value}" for name, value in self._variables().items()]
        return ["env", *variables, os.fspath(self.root / "usr/sbin/krb5kdc"), "-n"]

    def start(self) -> None:
        """Make the database if there is none, and start the KDC."""
        self.directory.mkdir(parents=True, exist_ok=True)
        if not self.config.exists():
            self.config.write_text(_KRB5.format(realm=REALM, address=self.address))
            known = {"realm": REALM, "address": self.address, "directory": self.directory, "libraries": self.libraries}
            self._kdc_config.write_text(_KDC.format(**known))
            self._run("kdb5_util", "-r", REALM, "create", "-s", "-P", MASTER_PASSWORD)
        super().start()

    def is_ready(self) -> bool:
        """Whether it listens.

        Raises:
            SandboxError: It has ended.
        """
        if not self.running:
            raise SandboxError(f"{self.name} ended by itself:\n{self.log_tail()}")
        return "starting" in self.log_tail()

    def pause(self) -> None:
        """SIGSTOP: it still accepts connections, but does not answer."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        if self.pid is not None:
            os.kill(self.pid, number)

    def add(self, principal: str) -> None:
        """Add a principal with a random key."""
        self._admin(f"addprinc -randkey +requires_preauth {principal}")

    def remove(self, principal: str) -> None:
        """Remove a principal."""
        self._admin(f"delprinc -force {principal}")

    def write_keytab(self, principal: str, keytab: Path) -> Path:
        """Give a principal another key and replace the keytab by one with it. Older keytabs are wrong from then on."""
        made = keytab.with_name(f"{keytab.name}.new")
        made.unlink(missing_ok=True)
        self._admin(f"ktadd -k {made} {principal}")
        return made.replace(keytab)

    def _admin(self, query: str) -> None:
        self._run("kadmin.local", "-r", REALM, "-q", query)

    def _run(self, program: str, *arguments: str) -> None:
        run([os.fspath(self.root / "usr/sbin" / program), *arguments], self.directory, self._variables())

    def _variables(self) -> dict[str, str]:
        return {**self.environment, "KRB5_KDC_PROFILE": os.fspath(self._kdc_config)}


def python_package() -> Path:
    """The package gssapi in a directory for PYTHONPATH: from the cache, else built against the unpacked library."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return cached(f"gssapi-python{version}", _build)


def _fetch(directory: Path) -> None:
    unpack(download(PACKAGES, directory.parent), directory)


def _build(directory: Path) -> None:
    """Build gssapi; compilers look for the headers in the unpacked packages."""
    root = cached("kerberos-debian", _fetch)
    library = next(root.glob("usr/lib/*/libgssapi_krb5.so.2"))
    run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
            *("--constraint", os.fspath(CONSTRAINTS), "--target", os.fspath(directory), "gssapi"),
        ],
        directory.parent,
        {
            "GSSAPI_COMPILER_ARGS": f"-I{root}/usr/include -I{root}/usr/include/mit-krb5 -DHAS_GSSAPI_EXT_H",
            "GSSAPI_LINKER_ARGS": f"-L{library.parent} -l:{library.name}",
            "GSSAPI_MAIN_LIB": os.fspath(library),
            "CFLAGS": "-O0",
        },
    )
