"""A program's resources in a simulated account, made and deleted one by one in any order that one may wish.

The engine makes a resource as soon as everything that it depends on exists, and deletes it as soon as nothing that
depends on it does. So an order of dependencies is right when no such order is refused.
"""

from collections.abc import Iterable, Sequence

from localcloud import catalog
from localcloud.account import Account
from localcloud.identity import identity_of
from localcloud.registration import Registration
from localcloud.resource_type import Identity


class Stage:
    """The account on which a program's resources are tried out.

    Args:
        resources: what the program registered in a `World`.
        account: where to; left out, an empty one in memory.
    """

    def __init__(self, resources: Iterable[Registration], account: Account | None = None) -> None:
        self._resources = {resource.urn: resource for resource in resources}
        self.account = account or Account(None)

    def copy(self) -> "Stage":
        """Returns a stage that goes its own way from here."""
        return Stage(self._resources.values(), self.account.copy())

    def make(self, urns: Sequence[str]) -> None:
        """Makes resources in an order; components and providers pass by.

        Raises:
            AwsError: one is refused.
        """
        for resource in self._stored(urns):
            # The same seed as in the world: ids that others name are the same.
            self.account.create(
                resource.type, resource.name, resource.inputs, self._identity(resource), seed=resource.urn
            )

    def delete(self, urns: Sequence[str]) -> None:
        """Deletes resources in an order.

        Raises:
            AwsError: one is refused.
        """
        for resource in self._stored(urns):
            self.account.delete(resource.type, str(resource.id), self._identity(resource))

    @property
    def left(self) -> list[str]:
        """What exists, as type and id."""
        return [f"{record.token} {record.id}" for record in self.account.records()]

    def _stored(self, urns: Sequence[str]) -> Iterable[Registration]:
        for urn in urns:
            resource = self._resources[urn]
            if is_stored(resource):
                yield resource

    def _identity(self, resource: Registration) -> Identity:
        provider = self._resources.get(resource.provider)
        return identity_of(provider.inputs if provider else {})


def is_stored(resource: Registration) -> bool:
    """Tells whether a resource is something in an account: neither component nor provider nor a mere value."""
    declared = catalog.find(resource.type) if resource.custom else None
    return declared is not None and declared.stored
