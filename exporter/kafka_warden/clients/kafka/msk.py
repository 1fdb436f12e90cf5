"""Tokens for Amazon MSK with IAM, signed by AWS's own package with the credentials that the machine or pod has."""

import os
import re
import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from kafka_warden.clients.kafka.jaas import NAME, Jaas, read_jaas
from kafka_warden.clients.kafka.property_names import TOKEN_ONLY, refuse_unsupported
from kafka_warden.clients.kafka.tokens import Token, read_token, refused, said
from kafka_warden.errors import ConfigError, SecretError, TokenError
from kafka_warden.settings.secrets import SecretSource

MECHANISM: Final = "AWS_MSK_IAM"
"""The name in Java; on the wire it is OAUTHBEARER here."""
HANDLERS: Final = ("IAMClientCallbackHandler", "IAMOAuthBearerLoginCallbackHandler")
_MODULES: Final = ("IAMLoginModule", "OAuthBearerLoginModule")
_OPTIONS: Final = ("awsProfileName", "awsRoleArn", "awsRoleSessionName")
_IGNORED: Final = ("awsDebugCreds", "awsMaxBackOffTimeMs", "awsMaxRetries")
"""Options that say nothing of the credentials."""
_UNSUPPORTED: Final = {
    "awsRoleExternalId": "set awsProfileName to a profile with role_arn and external_id",
    "awsStsRegion": "set the variable AWS_DEFAULT_REGION",
}
"""Options that AWS's package for Python does not take, with what to do instead."""
_HOST: Final = re.compile(r"\.kafka(?:-serverless)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?$")
_PACKAGE: Final = "aws_msk_iam_sasl_signer"


class MskSigner:
    """Signs a token. The credentials are looked up each time: instance, pod, web identity, environment, profile."""

    def __init__(self, region: str, jaas: Jaas) -> None:
        self.name = f"AWS in {region}"
        self._region = region
        # Not as secrets, which messages do not show.
        self._profile, self._role, self._session = map(jaas.text, _OPTIONS)

    def paths(self) -> tuple[Path, ...]:
        """Return no file: AWS's package looks for them, and credentials are renewed before they end."""
        return ()

    def get(self) -> Token:
        """Sign a token.

        Raises:
            SourceError: `AuthenticationError` if AWS refuses the role, `TokenError` if there are no credentials.
        """
        # Here, since only this login needs it: it takes a third of a second.
        from aws_msk_iam_sasl_signer import MSKAuthTokenProvider  # noqa: PLC0415
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415

        try:
            text, until = self._sign(MSKAuthTokenProvider)
        except ClientError as failure:
            raise refused(f"AWS refuses the credentials ({said(failure)})") from None
        except BotoCoreError as failure:
            raise TokenError(f"no AWS credentials ({said(failure)})") from None
        except (AttributeError, ValueError):
            raise TokenError(
                "no AWS credentials were found: no role of this instance or pod, no web identity, profile or variables"
            ) from None
        return read_token(text, until / 1000 - time.time(), self.name, {})

    def _sign(self, provider: Any) -> Any:
        """Return a token and when it ends, in milliseconds of Unix time."""
        if self._profile:
            return provider.generate_auth_token_from_profile(self._region, self._profile)
        if self._role:
            return provider.generate_auth_token_from_role_arn(self._region, self._role, self._session or "kafka-warden")
        return provider.generate_auth_token(self._region)


def msk_signer(properties: Mapping[str, str], secrets: Mapping[str, SecretSource], hosts: Sequence[str]) -> MskSigner:
    """Make the signer for a cluster with these hosts; no request is made.

    Raises:
        ConfigError: something is not supported, the package is missing, or the region is not known.
    """
    if given := sorted({*properties, *secrets}.intersection(TOKEN_ONLY)):
        raise ConfigError(f"kafka.{given[0]}: no effect with the credentials of AWS; remove it")
    for name in ("sasl.client.callback.handler.class", "sasl.login.callback.handler.class"):
        refuse_unsupported(properties, name, HANDLERS)
    jaas = read_jaas(secrets.get("sasl.jaas.config"), MECHANISM, *_MODULES)
    for name, instead in _UNSUPPORTED.items():
        if name in jaas.options:
            raise SecretError(f"{NAME}: AWS's package for Python has no option {name}; {instead} instead")
    jaas.only((*_OPTIONS, *_IGNORED))
    if find_spec(_PACKAGE) is None:
        raise ConfigError(
            f"kafka.sasl.mechanism: {MECHANISM} needs {_PACKAGE}, which is not installed:"
            " in a checkout pip install '.[msk]'"
        )
    named = (found[1] for found in map(_HOST.search, hosts) if found)
    region = next(named, os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION"))
    if not region:
        raise ConfigError(
            "kafka.bootstrap.servers: no broker's name has the AWS region of the cluster; set the variable AWS_REGION"
        )
    return MskSigner(region, jaas)
