"""Who may do what: accounts with a token each, and the Roles that bindings give them. Remembers what was asked."""

from dataclasses import dataclass, field
from typing import Any

from overlord.embedded.kubernetes.refusal import Refusal
from overlord.embedded.kubernetes.store import Store

Object = dict[str, Any]
ADMIN = "admin"


@dataclass(frozen=True, slots=True, order=True)
class Right:
    """One verb on one resource. `resource`: with its subresource, as `pods/log`; `namespace` is empty for the cluster's."""

    verb: str
    group: str
    resource: str
    namespace: str


@dataclass(slots=True)
class Rights:
    """`tokens` maps each to its account's name, as `system:serviceaccount:overlord:overlord`."""

    store: Store
    tokens: dict[str, str] = field(default_factory=dict)
    used: dict[str, set[Right]] = field(default_factory=dict)
    """What each account asked for and was given."""

    def account(self, authorization: str) -> str:
        """Whose request it is. Raises Refusal (401)."""
        kind, _, token = authorization.partition(" ")
        name = self.tokens.get(token.strip()) if kind.lower() == "bearer" else None
        if name is None:
            raise Refusal(401, "Unauthorized")
        return name

    def check(self, account: str, right: Right, name: str = "") -> None:
        """Raises Refusal (403) in a server's own words."""
        if not self.allows(account, right):
            place = f' in the namespace "{right.namespace}"' if right.namespace else " at the cluster scope"
            named = f' "{name}"' if name else ""
            whole = f"{right.resource}.{right.group}" if right.group else right.resource
            raise Refusal(
                403,
                f'{whole}{named} is forbidden: User "{account}" cannot {right.verb} resource "{right.resource}"'
                f' in API group "{right.group}"{place}',
            )
        self.used.setdefault(account, set()).add(right)

    def allows(self, account: str, right: Right) -> bool:
        return account == ADMIN or any(_covers(rule, right) for rule in self._rules(account, right.namespace))

    def _rules(self, account: str, namespace: str) -> list[Object]:
        found: list[Object] = []
        for plural, space in (("rolebindings", namespace), ("clusterrolebindings", "")):
            if plural == "rolebindings" and not namespace:
                continue
            for binding in self.store.list(plural, space):
                if not any(
                    _is_subject(subject, account, binding) for subject in binding.get("subjects") or ()
                ):
                    continue
                role = binding["roleRef"]
                where = namespace if role["kind"] == "Role" else ""
                given = self.store.get("roles" if where else "clusterroles", where, role["name"])
                found += (given or {}).get("rules") or []
        return found


def _is_subject(subject: Object, account: str, binding: Object) -> bool:
    if subject.get("kind") == "ServiceAccount":
        space = subject.get("namespace") or binding["metadata"].get("namespace", "")
        return account == f"system:serviceaccount:{space}:{subject['name']}"
    return bool(subject.get("name") == account)


def _covers(rule: Object, right: Right) -> bool:
    asked = (("verbs", right.verb), ("apiGroups", right.group), ("resources", right.resource))
    return all(value in rule.get(name, ()) or "*" in rule.get(name, ()) for name, value in asked)
