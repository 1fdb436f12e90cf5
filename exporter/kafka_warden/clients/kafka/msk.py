"""Tokens for Amazon MSK with IAM, signed by AWS's own package with the credentials that the machine or pod has."""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from kafka_warden.clients.kafka.jaas import Jaas
from kafka_warden.clients.kafka.tokens import Token, read_token, refused, said
from kafka_warden.errors import ConfigError, TokenError

MECHANISM: Final = "AWS_MSK_IAM"
"""The name in Java; on the wire it is OAUTHBEARER here."""
HANDLERS: Final = ("IAMClientCallbackHandler", "IAMOAuthBearerLoginCallbackHandler")
MODULES: Final = ("IAMLoginModule", "OAuthBearerLoginModule")
OPTIONS: Final = ("awsProfileName", "awsRoleArn", "awsRoleSessionName")
IGNORED: Final = ("awsDebugCreds", "awsMaxBackOffTimeMs", "awsMaxRetries")
"""Options that say nothing of the credentials."""
UNSUPPORTED: Final = {
    "awsRoleExternalId": "set awsProfileName to a profile with role_arn and external_id",
    "awsStsRegion": "set the variable AWS_DEFAULT_REGION",
}
"""Options that AWS's package for Python does not take, with what to do instead."""
_HOST: Final = re.compile(r"\.kafka(?:-serverless)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?$")
_PACKAGE: Final = "aws_msk_iam_sasl_signer"

Sign = Callable[[Any], tuple[str, int]]
"""Calls the package; returns a token and when it ends, in milliseconds of Unix time."""


class MskSigner:
    """Signs a token. The credentials are looked up each time: instance, pod, web identity, environment, profile."""

    def __init__(self, region: str, jaas: Jaas) -> None:
        self.name = f"AWS in {region}"
        self._sign = _chosen(region, jaas)

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


def _chosen(region: str, jaas: Jaas) -> Sign:
    profile, role = jaas.text("awsProfileName"), jaas.text("awsRoleArn")
    if profile:
        return lambda signer: signer.generate_auth_token_from_profile(region, profile)
    if role:
        session = jaas.text("awsRoleSessionName") or "kafka-warden"
        return lambda signer: signer.generate_auth_token_from_role_arn(region, role, session)
    return lambda signer: signer.generate_auth_token(region)


def msk_signer(hosts: Sequence[str], environment: Mapping[str, str], jaas: Jaas) -> MskSigner:
    """Make the signer for a cluster; no request is made.

    Raises:
        ConfigError: the package is missing, or the region is not known.
    """
    if find_spec(_PACKAGE) is None:
        raise ConfigError(
            f"kafka.sasl.mechanism: {MECHANISM} needs {_PACKAGE}, which is not installed:"
            " in a checkout pip install '.[msk]'"
        )
    named = (found[1] for found in map(_HOST.search, hosts) if found)
    region = next(named, environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION"))
    if not region:
        raise ConfigError(
            "kafka.bootstrap.servers: no broker's name has the AWS region of the cluster; set the variable AWS_REGION"
        )
    return MskSigner(region, jaas)
