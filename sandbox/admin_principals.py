"""Users and what they may do: SCRAM credentials and ACLs."""

from collections.abc import Iterable

from kafka.protocol.admin import AlterUserScramCredentialsRequest, CreateAclsRequest, DeleteAclsRequest

from sandbox.admin_base import Asker, check
from sandbox.passwords import scram_credentials

ANY = 1
TOPIC = 2
CLUSTER = 4
RESOURCES = {"topic": TOPIC, "cluster": CLUSTER}
OPERATIONS = {"read": 3, "write": 4, "describe": 8, "describe_configs": 10}
CLUSTER_NAME = "kafka-cluster"
LITERAL = 3
ALLOW = 3
SCRAM_NUMBERS = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}
MONITORING = (
    ("cluster", CLUSTER_NAME, "describe"),
    ("cluster", CLUSTER_NAME, "describe_configs"),
    ("topic", "*", "describe"),
    ("topic", "*", "describe_configs"),
)
"""The least that a principal needs to read everything kafka-warden asks for."""
Acl = tuple[str, str, str]
"""Kind of resource, its name, operation; as in `MONITORING`."""


class PrincipalAdmin(Asker):
    """The part of Admin that knows users."""

    def set_password(self, user: str, password: str) -> None:
        """Change a user's SCRAM credentials; a connection that is authenticated already stays so."""
        upsertion = AlterUserScramCredentialsRequest.ScramCredentialUpsertion
        # Kafka refuses two credentials of one user in one request
        for credential in scram_credentials(password):
            one = upsertion(
                name=user,
                mechanism=SCRAM_NUMBERS[credential.mechanism],
                iterations=credential.iterations,
                salt=credential.salt,
                salted_password=credential.salted_password,
            )
            for result in self.ask(AlterUserScramCredentialsRequest(deletions=[], upsertions=[one])).results:
                check(f"set password of {user}", result.error_code, result.error_message)

    def grant(self, user: str, acls: Iterable[Acl] = MONITORING) -> None:
        """Allow a principal something, from everywhere; by default all that monitoring needs."""
        creation = CreateAclsRequest.AclCreation
        creations = [
            creation(
                resource_type=RESOURCES[kind],
                resource_name=name,
                resource_pattern_type=LITERAL,
                principal=f"User:{user}",
                host="*",
                operation=OPERATIONS[operation],
                permission_type=ALLOW,
            )
            for kind, name, operation in acls
        ]
        for result in self.ask(CreateAclsRequest(creations=creations)).results:
            check(f"grant {user}", result.error_code, result.error_message)

    def revoke(self, user: str, acls: Iterable[Acl] = MONITORING) -> None:
        """Take away what `grant` gave."""
        filters = [
            DeleteAclsRequest.DeleteAclsFilter(
                resource_type_filter=RESOURCES[kind],
                resource_name_filter=name,
                pattern_type_filter=LITERAL,
                principal_filter=f"User:{user}",
                host_filter=None,
                operation=OPERATIONS[operation],
                permission_type=ANY,
            )
            for kind, name, operation in acls
        ]
        for result in self.ask(DeleteAclsRequest(filters=filters)).filter_results:
            check(f"revoke from {user}", result.error_code, result.error_message)
