"""Tokens for Amazon MSK with IAM: those of AWS's own package, with each kind of credentials that a machine may have."""

import base64
import importlib.util
import json
import urllib.parse
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from kafka_warden.clients.kafka.properties import translate
from kafka_warden.clients.kafka.tokens import Token, Tokens
from kafka_warden.errors import AuthenticationError, ConfigError, TokenError
from kafka_warden.settings.secrets import Secret
from tests.support.serving import answering

WITHIN: Final = 60.0
KEY, SECRET = "AKIAEXAMPLE", "canary-Tr0ub4dor"
BASE: Final = {
    "bootstrap.servers": "b-1.demo.abc123.c2.kafka.eu-west-1.amazonaws.com:9098",
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "AWS_MSK_IAM",
}
CREDENTIALS: Final = {
    "AccessKeyId": KEY,
    "SecretAccessKey": SECRET,
    "Token": "session",
    "Expiration": "2099-01-01T00:00:00Z",
}


@pytest.fixture(autouse=True)
def nothing_ambient(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No credentials of the machine that the tests run on, and no question to its metadata service."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / name))


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)


def tokens_of(**changes: str) -> Tokens:
    named = {name.replace("_", "."): value for name, value in changes.items()}
    jaas = named.pop("sasl.jaas.config", None)
    settings = translate({**BASE, **named}, {"sasl.jaas.config": Secret(jaas)} if jaas else {})
    assert settings.sasl_mechanism == "OAUTHBEARER"
    assert settings.ignored == ()
    assert isinstance(settings.credentials, Tokens)
    return settings.credentials


def signed(token: Token) -> tuple[str, Mapping[str, str]]:
    text = token.value.reveal()
    url = urllib.parse.urlsplit(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode())
    return str(url.hostname), dict(urllib.parse.parse_qsl(url.query))


@pytest.mark.usefixtures("key")
def test_the_token_is_a_signed_request_to_the_cluster() -> None:
    """For kafka-cluster:Connect in the region of the brokers' names, for 15 minutes, without the secret key."""
    token = tokens_of().wait(0.0, WITHIN)
    host, query = signed(token)
    assert host == "kafka.eu-west-1.amazonaws.com"
    assert query["Action"] == "kafka-cluster:Connect"
    assert query["X-Amz-Credential"].split("/")[::2] == [KEY, "eu-west-1", "aws4_request"]
    assert query["X-Amz-Expires"] == "900"
    assert 800 < token.lifetime <= 900
    assert SECRET not in str(query)
    assert token.message().startswith(b"n,,\1auth=Bearer ")


@pytest.mark.usefixtures("key")
@pytest.mark.parametrize(
    "spelling",
    [
        {
            "sasl_jaas_config": "software.amazon.msk.auth.iam.IAMLoginModule required awsDebugCreds=true"
            ' awsMaxRetries="7" awsMaxBackOffTimeMs="500";',
            "sasl_client_callback_handler_class": "software.amazon.msk.auth.iam.IAMClientCallbackHandler",
        },
        {
            "sasl_mechanism": "OAUTHBEARER",
            "sasl_jaas_config": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;",
            "sasl_login_callback_handler_class": "software.amazon.msk.auth.iam.IAMOAuthBearerLoginCallbackHandler",
        },
    ],
)
def test_both_of_javas_configurations_are_understood(spelling: Mapping[str, str]) -> None:
    assert signed(tokens_of(**spelling).wait(0.0, WITHIN))[1]["Action"] == "kafka-cluster:Connect"


def test_a_profile_may_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "AWS_SHARED_CREDENTIALS_FILE").write_text(
        f"[one]\naws_access_key_id = ONE\naws_secret_access_key = {SECRET}\n"
        f"[two]\naws_access_key_id = TWO\naws_secret_access_key = {SECRET}\n"
    )
    monkeypatch.setenv("AWS_PROFILE", "two")
    named = tokens_of(sasl_jaas_config='IAMLoginModule required awsProfileName="one";')
    found = [
        signed(tokens.wait(0.0, WITHIN))[1]["X-Amz-Credential"].partition("/")[0] for tokens in (named, tokens_of())
    ]
    assert found == ["ONE", "TWO"]
    with pytest.raises(TokenError, match=r"no AWS credentials \(.*three"):
        tokens_of(sasl_jaas_config="IAMLoginModule required awsProfileName=three;").wait(0.0, WITHIN)


def test_the_role_of_an_instance_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the metadata service, with a session token (IMDSv2)."""
    roles = "/latest/meta-data/iam/security-credentials/"
    document = json.dumps({**CREDENTIALS, "Code": "Success", "Type": "AWS-HMAC"}).encode()
    with answering({"/latest/api/token": b"imds", roles: b"warden", f"{roles}warden": document}) as (address, seen):
        monkeypatch.delenv("AWS_EC2_METADATA_DISABLED")
        monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", f"{address}/")
        query = signed(tokens_of().wait(0.0, WITHIN))[1]
    assert (query["X-Amz-Credential"].partition("/")[0], query["X-Amz-Security-Token"]) == (KEY, "session")
    assert [path for path, _ in seen] == ["/latest/api/token", roles, f"{roles}warden"]


def test_pod_identity_of_eks_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "pod-token"
    file.write_text("pod")
    with answering({"/v1/credentials": json.dumps(CREDENTIALS).encode()}) as (address, seen):
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{address}/v1/credentials")
        monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", str(file))
        assert signed(tokens_of().wait(0.0, WITHIN))[1]["X-Amz-Security-Token"] == "session"
    assert [headers["Authorization"] for _, headers in seen] == ["pod"]


WEB_IDENTITY: Final = f"""<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
<AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>{KEY}</AccessKeyId>
<SecretAccessKey>{SECRET}</SecretAccessKey><SessionToken>session</SessionToken>
<Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleWithWebIdentityResult>
</AssumeRoleWithWebIdentityResponse>"""

REFUSED: Final = """<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type>
<Code>InvalidIdentityToken</Code><Message>not this one</Message></Error></ErrorResponse>"""


def test_a_web_identity_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """IAM roles for service accounts; a role that AWS refuses is a refused login."""
    file = tmp_path / "identity"
    file.write_text("a.b.c")
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(file))
    monkeypatch.setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/warden")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    with answering({"/": WEB_IDENTITY.encode()}) as (address, _):
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", address)
        assert signed(tokens_of().wait(0.0, WITHIN))[1]["X-Amz-Security-Token"] == "session"
    with answering({"/": REFUSED.encode()}, 400) as (address, _):
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", address)
        with pytest.raises(AuthenticationError, match=r"^AWS refuses the credentials \(.*not this one") as caught:
            tokens_of().wait(0.0, WITHIN)
        assert caught.value.reached is None


def test_without_credentials_the_message_says_so() -> None:
    with pytest.raises(TokenError, match="no AWS credentials were found"):
        tokens_of().wait(0.0, WITHIN)


def test_the_region_is_that_of_the_brokers_or_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name of one's own, as with PrivateLink, has none."""
    serverless = "boot-x.c1.kafka-serverless.us-east-2.amazonaws.com:9098"
    assert tokens_of(bootstrap_servers=serverless).source.name == "AWS in us-east-2"
    with pytest.raises(ConfigError, match="set the variable AWS_REGION"):
        tokens_of(bootstrap_servers="kafka.example:9098")
    monkeypatch.setenv("AWS_REGION", "eu-north-1")
    assert tokens_of(bootstrap_servers="kafka.example:9098").source.name == "AWS in eu-north-1"
    assert tokens_of(bootstrap_servers=serverless).source.name == "AWS in us-east-2"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sasl_username": "u"}, "no effect with sasl.mechanism AWS_MSK_IAM"),
        ({"sasl_oauthbearer_scope": "s"}, "kafka.sasl.oauthbearer.scope: no effect with the credentials of AWS"),
        ({"sasl_client_callback_handler_class": "com.example.Other"}, "is not supported"),
        ({"sasl_jaas_config": "ScramLoginModule required;"}, "expected IAMLoginModule"),
        (
            {"sasl_jaas_config": "IAMLoginModule required awsOther=true;"},
            "the option awsOther is not supported; known are awsProfileName",
        ),
        (
            {"sasl_jaas_config": "IAMLoginModule required awsRoleArn=a awsRoleExternalId=canary;"},
            "no option awsRoleExternalId; set awsProfileName to a profile with role_arn and external_id instead",
        ),
        (
            {"sasl_jaas_config": "IAMLoginModule required awsRoleArn=a awsStsRegion=eu-west-1;"},
            "no option awsStsRegion; set the variable AWS_DEFAULT_REGION instead",
        ),
    ],
)
def test_mistakes_are_one_line(changes: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        tokens_of(**changes)
    assert message in str(caught.value)


def test_the_message_has_the_extra_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr("kafka_warden.clients.kafka.msk.find_spec", lambda name: None if "msk" in name else real(name))
    with pytest.raises(ConfigError, match=r"in a checkout pip install '\.\[msk\]'"):
        tokens_of()
