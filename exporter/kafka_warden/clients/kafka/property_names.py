"""The names of client properties: which are known, what each means here, and which two name one thing."""

import re
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from kafka_warden.clients.kafka.jaas import PASSWORD_FILE
from kafka_warden.errors import ConfigError
from kafka_warden.settings.secrets import Secret, SecretSource
from kafka_warden.settings.strict import nearest

T = TypeVar("T", bound=str | SecretSource)
V = TypeVar("V")

_TABLE: Final = """
    bootstrap.servers
    client.id
    enable.ssl.certificate.verification
    https.ca.location                                path token
    https.ca.pem                                     token
    receive.message.max.bytes
    request.timeout.ms
    sasl.client.callback.handler.class               token
    sasl.jaas.config                                 sasl secret
    sasl.kerberos.keytab                             path kerberos
    sasl.kerberos.principal                          kerberos
    sasl.kerberos.service.name                       kerberos
    sasl.login.callback.handler.class                token
    sasl.mechanism
    sasl.oauthbearer.client.id                       sasl token
    sasl.oauthbearer.client.secret                   sasl token secret
    sasl.oauthbearer.extensions                      sasl token
    sasl.oauthbearer.grant.type                      token
    sasl.oauthbearer.header.urlencode                token
    sasl.oauthbearer.jwt.retriever.class             token
    sasl.oauthbearer.metadata.authentication.type    token
    sasl.oauthbearer.method                          token
    sasl.oauthbearer.scope                           sasl token
    sasl.oauthbearer.token.endpoint.url              sasl token
    sasl.password                                    sasl secret
    sasl.username                                    sasl
    security.protocol
    socket.connection.setup.timeout.ms
    socket.timeout.ms
    ssl.ca.location                                  tls path
    ssl.ca.pem                                       tls pem
    ssl.certificate.location                         tls path
    ssl.certificate.pem                              tls pem
    ssl.cipher.suites
    ssl.crl.location                                 path
    ssl.enabled.protocols
    ssl.endpoint.identification.algorithm
    ssl.key.location                                 tls path
    ssl.key.password                                 tls secret
    ssl.key.pem                                      tls secret
    ssl.keystore.certificate.chain                   tls pem
    ssl.keystore.key                                 tls secret
    ssl.keystore.location                            tls path
    ssl.keystore.password                            tls secret
    ssl.keystore.type
    ssl.truststore.certificates                      tls pem
    ssl.truststore.location                          tls path
    ssl.truststore.password                          tls secret
    ssl.truststore.type
"""
"""The properties with an effect here, each with its marks.

sasl, tls: none without that part of `security.protocol`. token, kerberos: only for that login. secret, path, pem: the
kind of value.
"""

_WITHOUT_EFFECT: Final = """
    acks allow.auto.create.topics api.version.fallback.ms api.version.request api.version.request.timeout.ms
    auto.commit.enable auto.commit.interval.ms auto.offset.reset batch.num.messages batch.size
    bootstrap.controllers bootstrap.resolve.timeout.ms broker.address.family broker.address.ttl
    broker.version.fallback buffer.memory buffer.memory.allocation.strategy builtin.features check.crcs
    client.dns.lookup client.rack compression.codec compression.gzip.level compression.level
    compression.lz4.level compression.type compression.zstd.level connections.max.idle.ms
    consume.callback.max.messages coordinator.query.interval.ms debug default.api.timeout.ms
    default_topic_conf delivery.report.only.error delivery.timeout.ms enable.auto.commit
    enable.auto.offset.store enable.gapless.guarantee enable.idempotence enable.metrics.push
    enable.partition.eof enable.random.seed enable.sasl.oauthbearer.unsecure.jwt enabled_events
    exclude.internal.topics fetch.error.backoff.ms fetch.max.bytes fetch.max.wait.ms fetch.message.max.bytes
    fetch.min.bytes fetch.queue.backoff.ms fetch.wait.max.ms group.id group.instance.id group.protocol
    group.protocol.type group.remote.assignor heartbeat.interval.ms interceptor.classes interceptors
    internal.leave.group.on.close internal.termination.signal
    internal.throw.on.fetch.stable.offset.unsupported isolation.level key.deserializer key.serializer
    linger.ms log.connection.close log.queue log.thread.name log_level max.block.ms max.in.flight
    max.in.flight.requests.per.connection max.partition.fetch.bytes max.poll.interval.ms max.poll.records
    max.request.size message.copy.max.bytes message.max.bytes message.send.max.retries message.timeout.ms
    metadata.broker.list metadata.cluster.check.enable metadata.max.age.ms metadata.max.idle.ms
    metadata.recovery.rebootstrap.trigger.ms metadata.recovery.strategy metric.reporters metrics.num.samples
    metrics.recording.level metrics.sample.window.ms msg_order_cmp offset.store.method offset.store.path
    offset.store.sync.interval.ms opaque partition.assignment.strategy partitioner
    partitioner.adaptive.partitioning.enable partitioner.availability.timeout.ms partitioner.class
    partitioner.ignore.keys partitioner.rack.aware plugin.library.paths produce.offset.report
    queue.buffering.backpressure.threshold queue.buffering.max.kbytes queue.buffering.max.messages
    queue.buffering.max.ms queued.max.messages.kbytes queued.min.messages queuing.strategy
    receive.buffer.bytes reconnect.backoff.jitter.ms reconnect.backoff.max.ms reconnect.backoff.ms
    request.required.acks retries retry.backoff.max.ms retry.backoff.ms sasl.kerberos.kinit.cmd
    sasl.kerberos.min.time.before.relogin sasl.kerberos.ticket.renew.jitter
    sasl.kerberos.ticket.renew.window.factor sasl.login.class sasl.login.connect.timeout.ms
    sasl.login.read.timeout.ms sasl.login.refresh.buffer.seconds sasl.login.refresh.min.period.seconds
    sasl.login.refresh.window.factor sasl.login.refresh.window.jitter sasl.login.retry.backoff.max.ms
    sasl.login.retry.backoff.ms sasl.mechanisms sasl.oauthbearer.allow.unverified.audience
    sasl.oauthbearer.allow.unverified.issuer sasl.oauthbearer.assertion.algorithm
    sasl.oauthbearer.assertion.claim.aud sasl.oauthbearer.assertion.claim.exp.seconds
    sasl.oauthbearer.assertion.claim.iss sasl.oauthbearer.assertion.claim.jti.include
    sasl.oauthbearer.assertion.claim.nbf.seconds sasl.oauthbearer.assertion.claim.sub
    sasl.oauthbearer.assertion.file sasl.oauthbearer.assertion.jwt.template.file
    sasl.oauthbearer.assertion.private.key.file sasl.oauthbearer.assertion.private.key.passphrase
    sasl.oauthbearer.assertion.private.key.pem sasl.oauthbearer.assertion.template.file
    sasl.oauthbearer.client.credentials.client.id sasl.oauthbearer.client.credentials.client.secret
    sasl.oauthbearer.clock.skew.seconds sasl.oauthbearer.config sasl.oauthbearer.expected.audience
    sasl.oauthbearer.expected.issuer sasl.oauthbearer.jwks.endpoint.refresh.ms
    sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms sasl.oauthbearer.jwks.endpoint.retry.backoff.ms
    sasl.oauthbearer.jwks.endpoint.url sasl.oauthbearer.jwt.validator.class sasl.oauthbearer.scope.claim.name
    sasl.oauthbearer.sub.claim.name security.providers send.buffer.bytes session.timeout.ms
    share.acknowledgement.mode share.acquire.mode socket.blocking.max.ms
    socket.connection.setup.timeout.max.ms socket.keepalive.enable socket.max.fails socket.nagle.disable
    socket.receive.buffer.bytes socket.send.buffer.bytes ssl.ca.certificate.stores ssl.curves.list
    ssl.engine.factory.class ssl.engine.id ssl.engine.location ssl.keymanager.algorithm ssl.protocol
    ssl.provider ssl.providers ssl.secure.random.implementation ssl.sigalgs.list ssl.trustmanager.algorithm
    ssl_ca ssl_certificate ssl_engine_callback_data ssl_key statistics.interval.ms
    sticky.partitioning.linger.ms topic.blacklist topic.metadata.propagation.max.ms
    topic.metadata.refresh.fast.cnt topic.metadata.refresh.fast.interval.ms topic.metadata.refresh.interval.ms
    topic.metadata.refresh.sparse transaction.timeout.ms transaction.two.phase.commit.enable transactional.id
    value.deserializer value.serializer
"""
"""The others that a client knows: librdkafka, and Kafka 4.4's admin, consumer and producer.

With this list a misspelt property is an error, and a property without effect here is not.
"""

_MARKS: Final = {name: frozenset(marks) for name, *marks in map(str.split, _TABLE.strip().splitlines())}
EFFECTIVE: Final = frozenset(_MARKS)
KNOWN: Final = EFFECTIVE.union(_WITHOUT_EFFECT.split())


def marked(*marks: str) -> frozenset[str]:
    """Return the properties that have one of these marks."""
    return frozenset(name for name, own in _MARKS.items() if not own.isdisjoint(marks))


ALIASES: Final = {
    "metadata.broker.list": "bootstrap.servers",
    "sasl.mechanisms": "sasl.mechanism",
    "sasl.oauthbearer.client.credentials.client.id": "sasl.oauthbearer.client.id",
    "sasl.oauthbearer.client.credentials.client.secret": "sasl.oauthbearer.client.secret",
}

SECRET_PROPERTIES: Final = marked("secret") | {
    "sasl.oauthbearer.assertion.private.key.passphrase",
    "sasl.oauthbearer.assertion.private.key.pem",
    "sasl.oauthbearer.client.credentials.client.secret",
    "sasl.oauthbearer.config",
    "ssl_key",
}
"""Properties with a secret value: from `<property>.file` or the environment, never from a file's text or a flag."""
TOKEN_ONLY: Final = marked("sasl") & marked("token")
"""Properties that mean nothing for another login."""

_LIKE: Final = 0.6
"""Of difflib, for one word of a name: `user` is like `username`."""
_OF_OTHERS: Final = "schema.registry."
"""Properties of a client of schema registries. Some are named like those of Kafka, but are no typo."""
PROVIDERS: Final = "config.providers"
"""Java's clients replace `${provider:key}` by values from these."""
_SUGGESTED: Final = sorted({*EFFECTIVE, *ALIASES})
_PREFIX: Final = re.compile(r"^(?=.*\.)(spring\.)?(kafka\.)?((properties|producer|consumer|admin)\.)?")
"""What other programs put before properties of Kafka."""
_CONNECTING: Final = ("bootstrap.", "sasl.", "security.", "ssl.")
"""Starts of the properties without which their connection would be another one."""
SAME: Final = (
    ("ssl.ca.location", "ssl.truststore.location"),
    ("ssl.ca.pem", "ssl.truststore.certificates"),
    ("ssl.certificate.location", "ssl.keystore.location"),
    ("ssl.certificate.pem", "ssl.keystore.certificate.chain"),
    ("ssl.key.pem", "ssl.keystore.key"),
)
"""librdkafka's name and Java's for one thing. Unlike `ALIASES`, a message has the name that was set."""


def secret_file(name: str) -> str:
    """Return the property for a file with a secret, which may have any text."""
    return PASSWORD_FILE if name == "sasl.jaas.config" else f"{name}.file"


def canonical(name: str) -> str:
    """Return the one name of a property that has two."""
    return ALIASES.get(name, name)


def check_name(name: str) -> None:
    """Refuse a property that no Kafka client knows.

    Raises:
        ConfigError: with the nearest known name.
    """
    if name.startswith(PROVIDERS):
        raise ConfigError(
            f"kafka.{name}: values as ${{provider:key}} are not supported; remove this, and write them out"
        )
    if name not in KNOWN:
        shown = " ".join(name.split())
        hint = f"did you mean {meant}?" if (meant := meant_by(name)) else "remove it, if it is not misspelt"
        raise ConfigError(f"kafka.{shown}: no Kafka client has this property; {hint}")


def checked(properties: Mapping[str, str], name: str, read: Callable[[str], V], default: str) -> V:
    """Read one property; `read` raises a ValueError that says what it expected.

    Raises:
        ConfigError: the same, with the name of the property in front.
    """
    try:
        return read(properties.get(name, default).strip())
    except ValueError as failure:
        raise ConfigError(f"kafka.{name}: {failure}") from None


def refuse_unsupported(properties: Mapping[str, str], name: str, known: tuple[str, ...]) -> None:
    """Refuse another value than the known ones: words, or names of classes without their package.

    Raises:
        ConfigError: with the known ones.
    """
    value = properties.get(name, known[0])
    if value.rpartition(".")[2].lower() not in map(str.lower, known):
        raise ConfigError(f"kafka.{name}: {value!r} is not supported; expected {' or '.join(known)}")


def meant_by(name: str) -> str:
    """Return the property with an effect here that an unknown name means; empty if there is none.

    It is spelt in another way, such as `saslMechanism`, has the prefix of another program, or has a typing error. A
    word that is another one is no typing error: `ssl.truststore.path` does not mean `ssl.truststore.type`.
    """
    if name in KNOWN or name.startswith(_OF_OTHERS):
        return ""
    if (stem := name.removesuffix(".file")) != name:
        return f"{meant}.file" if (meant := meant_by(stem)) in SECRET_PROPERTIES else ""
    own = _PREFIX.sub("", name)
    known = [each for each in _SUGGESTED if own == name or each.startswith(_CONNECTING)]
    dotted = re.sub(r"[-_]|(?<=[a-z])(?=[A-Z])", ".", own).lower().replace("sasl.plain.", "sasl.")
    spelt = [each for each in known if each.replace(".", "") == dotted.replace(".", "")]
    words = dotted.split(".")
    near = [each for each in known if _are_near(words, each.split("."))]
    longer = [each for each in known if each.split(".")[:-1] == words]
    return next(iter(spelt), "") or nearest(dotted, near, 0.0) or (longer[0] if len(longer) == 1 else "")


def _are_near(words: list[str], others: list[str]) -> bool:
    return len(words) == len(others) and all(nearest(one, [two], _LIKE) for one, two in zip(words, others, strict=True))


def split(
    properties: Mapping[str, str],
    secrets: Mapping[str, SecretSource],
) -> tuple[dict[str, str], dict[str, SecretSource]]:
    """Return the properties that are no secret and those that are, each by its one name.

    Raises:
        ConfigError: a name is unknown, or two names of one property have different values.
    """
    plain: dict[str, str] = {}
    hidden: dict[str, SecretSource] = {}
    for name, secret in secrets.items():
        _add(hidden, name, secret)
    for name, value in properties.items():
        check_name(name)
        if name not in SECRET_PROPERTIES:
            _add(plain, name, value)
        elif name not in secrets:
            _add(hidden, name, Secret(value))
    for ours, javas in SAME:
        for given in (plain, hidden):
            if ours in given and javas in given:
                _refuse_two(given[ours], given.pop(javas), javas, ours)
    return plain, hidden


def _add(given: dict[str, T], name: str, value: T) -> None:
    known = canonical(name)
    if known in given:
        alias = next(alias for alias, other in ALIASES.items() if other == known)
        _refuse_two(given[known], value, alias, known)
    given[known] = value


def _refuse_two(one: str | SecretSource, other: str | SecretSource, name: str, same: str) -> None:
    """Refuse two values of one property, which has two names. Equal ones are taken."""
    first, second = ("".join(each.split()) if isinstance(each, str) else each.read() for each in (one, other))
    if first != second:
        raise ConfigError(f"kafka.{name}: set either this or {same}, not both: their values differ")
