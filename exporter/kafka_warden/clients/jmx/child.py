"""The program of the JMX child: `python -m kafka_warden.clients.jmx.child PARENT_PID`, started by `process` only.

It starts the one JVM with all its limits, reads requests from stdin, writes answers to what was stdout, and logs
nothing. It ends at once on SIGTERM, at the end of stdin, and when its parent dies.

JPype loads the JVM into this process. numpy is kept out: JPype would import it, for 45 MB, and nothing needs it.
"""

import ctypes
import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any, Final

from kafka_warden.clients.jmx.protocol import BeanRequest, Hello, decode_hello, encode

CLASSES = Path(__file__).with_name("java")
"""Compiled classes, their sources beside them. A test compares the two."""

_ACCEPTED = (
    # values, and the collections that JMX packs them in
    *(f"java.base/java.lang.{name}" for name in ("Object", "Number", "Byte", "Short", "Integer", "Long")),
    *(f"java.base/java.lang.{name}" for name in ("Float", "Double", "Boolean", "String")),
    *(f"java.base/java.util.{name}" for name in ("ArrayList", "HashSet", "HashMap", "Map$Entry")),
    *(f"java.management/javax.management.{name}" for name in ("Attribute", "AttributeList", "ObjectName")),
    # remote references and their leases
    *(f"java.rmi/java.rmi.server.{name}" for name in ("RemoteObject", "RemoteStub", "UID", "ObjID")),
    *(f"java.rmi/java.rmi.dgc.{name}" for name in ("Lease", "VMID")),
    *(
        f"java.management.rmi/javax.management.remote.rmi.{name}_Stub"
        for name in ("RMIServerImpl", "RMIConnectionImpl")
    ),
    # exceptions of the server, which are thrown again here
    *(f"java.base/java.lang.{name}" for name in ("Throwable", "Exception", "RuntimeException", "Error")),
    *(f"java.base/java.lang.{name}" for name in ("SecurityException", "StackTraceElement")),
    *(f"java.base/java.util.{name}" for name in ("CollSer", "ImmutableCollections$ListN", "Collections$EmptyList")),
    *(f"java.base/java.util.{name}" for name in ("Collections$UnmodifiableList", "Collections$UnmodifiableCollection")),
    *(f"java.management/javax.management.{name}Exception" for name in ("JM", "Operations", "JMRuntime")),
    *(f"java.management/javax.management.{name}NotFoundException" for name in ("Instance", "Attribute")),
    *(f"java.management/javax.management.{name}Exception" for name in ("MBean", "RuntimeMBean", "Reflection")),
    "java.base/java.security.GeneralSecurityException",
    *(f"java.base/javax.security.auth.login.{name}Exception" for name in ("Login", "FailedLogin", "Account")),
    *(f"java.base/javax.security.auth.login.Account{name}Exception" for name in ("Expired", "Locked", "NotFound")),
    "java.base/java.io.IOException",
    *(f"java.rmi/java.rmi.{name}Exception" for name in ("Remote", "NotBound", "NoSuchObject", "Server", "Unmarshal")),
)
"""The classes that all beans of Kafka 4.1.1 and 3.9.1 need, of brokers and controllers, and the exceptions of the calls
that are made. Not TimeUnit: its attributes are not asked for. Names include the module, so a class of the same name
from another module is refused."""

_PR_SET_PDEATHSIG: Final = 1
_TLS_STUB = "java.rmi/javax.rmi.ssl.SslRMIClientSocketFactory"
"""Part of the stub when the port uses TLS. Without TLS a server cannot choose how sockets are made."""


class JvmError(Exception):
    """No JVM can be started. The message says what to install."""


def serial_filter(*, tls: bool) -> str:
    """The value of `jdk.serialFilter`: only the accepted classes are read, and nothing large or deep."""
    accepted = (*_ACCEPTED, _TLS_STUB) if tls else _ACCEPTED
    return ";".join(("maxdepth=20", "maxarray=100000", "maxrefs=100000", "maxbytes=4194304", *accepted, "!*"))


def options(hello: Hello) -> tuple[str, ...]:
    """The JVM's flags.

    RMI reads its properties in static initialisers, so they must be set before a class of RMI is loaded. `-Xrs` leaves
    SIGTERM to Python. A crash writes no file, because it would hold the environment. A full heap ends the child, which
    costs one poll; `serial_filter` and `LimitedSocket.java` keep one process from filling it. The heap begins small:
    else Java touches all of it before it collects, 17 MB more. It is touched at the start: else memory grows for an
    hour.
    """
    millis = round(1000 * hello.timeout)
    return (
        "-Xrs",
        "-Xms8m",
        "-XX:+AlwaysPreTouch",
        "-Xmx64m",
        "-Xss512k",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-XX:ReservedCodeCacheSize=16m",
        "-XX:-UsePerfData",
        "-XX:+DisableAttachMechanism",
        "-XX:+ExitOnOutOfMemoryError",
        "-XX:-CreateCoredumpOnCrash",
        "-XX:ErrorFile=/dev/null",
        "-Djava.awt.headless=true",
        "-Djava.net.preferIPv6Addresses=system",
        f"-Dsun.rmi.transport.tcp.handshakeTimeout={millis}",
        f"-Dsun.rmi.transport.tcp.responseTimeout={millis}",
        f"-Dsun.rmi.transport.tcp.initialConnectTimeout={millis}",
        f"-Djdk.serialFilter={serial_filter(tls=hello.tls is not None)}",
    )


def start(hello: Hello) -> str:
    """Start the JVM and return its version; raise :class:`JvmError` if that fails."""
    sys.modules.setdefault("numpy", None)  # type: ignore[arg-type]  # makes `import numpy` fail
    import jpype  # noqa: PLC0415  numpy must be blocked first

    try:
        jpype.startJVM(*options(hello), classpath=[str(CLASSES)], convertStrings=False)
    except jpype.JVMNotFoundException:
        message = (
            "JMX needs a Java runtime, 11 or later: install one (apt install default-jre-headless) or set JAVA_HOME"
        )
        raise JvmError(message) from None
    except Exception as failed:
        raise JvmError(f"the JVM for JMX does not start: {failed}: check the Java runtime (java -version)") from failed
    jpype.JClass("java.util.logging.LogManager").getLogManager().reset()  # errors are answers here, not log lines
    return str(jpype.JClass("java.lang.System").getProperty("java.version"))


def _die_with(parent: int) -> None:
    """Have the kernel end this process when its parent dies. Where there is no prctl, the end of stdin does that."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def main() -> None:
    """Serve until stdin ends."""
    _die_with(int(sys.argv[1]))
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole process group; the parent ends its child
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # the JVM prints warnings to stdout, which carries the protocol
    lock = threading.Lock()

    def send(message: Any) -> None:
        with lock:
            answers.write(encode(message))
            answers.flush()

    try:
        hello = decode_hello(sys.stdin.buffer.readline())
        version = start(hello)
    except JvmError as failed:
        send({"failed": str(failed)})
        return
    from kafka_warden.clients.jmx.worker import Workers  # noqa: PLC0415  it imports JPype, after numpy is blocked

    workers = Workers(hello, send)
    send({"ready": version})
    for line in sys.stdin.buffer:
        workers.put(BeanRequest(**json.loads(line)))
    os._exit(0)  # do not wait for the JVM and for threads in a hung call


if __name__ == "__main__":
    main()
