"""OAUTHBEARER for clients of brokers and controllers, beside PLAIN, which the nodes and the super user keep."""

from typing import Any, Final

from sandbox.issuer import AUDIENCE, Issuer
from sandbox.properties import CLIENT_LISTENER, CONTROLLER_LISTENER
from sandbox.settings import Security

_PACKAGE: Final = "org.apache.kafka.common.security.oauthbearer"


def oauth_settings(issuer: Issuer, reauthenticate: float) -> dict[str, Any]:
    """Settings of a cluster that takes the tokens of an issuer; a session lasts so many seconds, or as its token.

    Signature, issuer and audience are checked by Kafka's own validator, which 4.1 does not choose by itself.
    """
    return {
        "security": Security.SASL_SSL_PLAIN,
        "java_properties": {"org.apache.kafka.sasl.oauthbearer.allowed.urls": issuer.keys_url},
        "broker_properties": _listener(CLIENT_LISTENER, issuer, reauthenticate),
        "controller_properties": _listener(CONTROLLER_LISTENER, issuer, reauthenticate),
    }


def _listener(name: str, issuer: Issuer, reauthenticate: float) -> dict[str, object]:
    listener = f"listener.name.{name.lower()}"
    bearer = f"{listener}.oauthbearer"
    return {
        f"{listener}.sasl.enabled.mechanisms": "PLAIN,OAUTHBEARER",
        f"{bearer}.sasl.jaas.config": f"{_PACKAGE}.OAuthBearerLoginModule required;",
        f"{bearer}.sasl.server.callback.handler.class": f"{_PACKAGE}.OAuthBearerValidatorCallbackHandler",
        f"{bearer}.sasl.oauthbearer.jwks.endpoint.url": issuer.keys_url,
        f"{bearer}.sasl.oauthbearer.expected.audience": AUDIENCE,
        f"{bearer}.sasl.oauthbearer.expected.issuer": issuer.url,
        f"{bearer}.connections.max.reauth.ms": round(1000 * reauthenticate),
        "sasl.oauthbearer.jwt.validator.class": f"{_PACKAGE}.BrokerJwtValidator",
    }
