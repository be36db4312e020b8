"""Messages with which the API server refuses pods: quota, LimitRange, PodSecurity, webhooks, missing references."""

import re

from jobs.state.explain import amounts
from jobs.state.explain.model import Explanation, Reason
from jobs.state.reading import Object, quote

_QUOTA = re.compile(
    r"exceeded quota: (?P<name>[^,]+), requested: (?P<want>.*?), used: (?P<used>.*?), limited: (?P<limit>\S+)",
    re.DOTALL,
)
_UNSPECIFIED = re.compile(r"failed quota: (?P<name>[^:]+): must specify (?P<what>.*)", re.DOTALL)
_WEBHOOK = re.compile(r'admission webhook "(?P<name>[^"]+)" denied the request: ?(?P<why>.*)', re.DOTALL)
_UNREACHED = re.compile(r'failed calling webhook "(?P<name>[^"]+)": ?(?P<why>.*)', re.DOTALL)
_POLICY = re.compile(r"ValidatingAdmissionPolicy '(?P<name>[^']+)'.* denied request: ?(?P<why>.*)", re.DOTALL)
_SECURITY = re.compile(r'violates PodSecurity "(?P<level>[^"]+)": ?(?P<why>.*)', re.DOTALL)
_ACCOUNT = re.compile(
    r'service ?account "?(?P<name>[\w./-]+)"? not found|looking up service account (?P<full>[\w./-]+)', re.IGNORECASE
)
_PRIORITY = re.compile(r"no PriorityClass with name (?P<name>\S+) was found")
_RANGE = re.compile(r"is forbidden: \[?(?P<why>(?:minimum|maximum) .* usage per .*?)\]?$", re.DOTALL)
_FORBIDDEN = re.compile(r"is (?P<how>forbidden|invalid): ?(?P<why>.*)", re.DOTALL)


def explain(source: str, reason: str, message: str, context: Object) -> Explanation | None:
    """Return why pods were refused, or None if the message is no refusal."""
    for reader in (_quota, _unspecified, _security, _webhook, _references, _range, _other):
        found = reader(message)
        if found:
            return found
    return None


def _quota(message: str) -> Explanation | None:
    match = _QUOTA.search(message)
    if not match:
        return None
    name = quote(match["name"], 80)
    want, used, limit = (_amounts(match[part]) for part in ("want", "used", "limit"))
    reasons = []
    for resource, needed in want.items():
        free = amounts.subtract(limit.get(resource, ""), used.get(resource, "0"))
        if free is not None and amounts.more(needed, free):
            gap = amounts.subtract(needed, free)
            reasons.append(
                Reason("NamespaceQuotaExceeded", None, resource, needed=needed, available=free, short_by=gap)
            )
    if not reasons:
        return Explanation("NamespaceQuotaExceeded", f"quota {name} of the project is exceeded")
    lead = reasons[0]
    parts = ", ".join(
        f"{r.resource} needs {r.needed} and {r.available} of {limit.get(r.resource or '')} {_are(r.available)} free"
        for r in reasons
    )
    return Explanation(
        "NamespaceQuotaExceeded",
        f"quota {name} of the project is used up: {parts}",
        resource=lead.resource,
        needed=lead.needed,
        available=lead.available,
        short_by=lead.short_by,
        reasons=tuple(reasons),
    )


def _are(amount: str | None) -> str:
    return "is" if amount == "1" else "are"


def _amounts(listed: str) -> dict[str, str]:
    pairs = (item.partition("=") for item in listed.split(","))
    return {name.strip(): amount.strip() for name, _, amount in pairs if amount}


def _unspecified(message: str) -> Explanation | None:
    match = _UNSPECIFIED.search(message)
    if not match:
        return None
    wanted = quote(match["what"])
    resource = re.split(r"[\s;,]", match["what"].strip(), maxsplit=1)[0]
    reasons = tuple(
        Reason("QuotaNeedsResources", None, part.strip().split(" ")[0])
        for part in match["what"].split(";")
        if part.strip()
    )
    clause = f"quota {quote(match['name'], 80)} of the project wants every container to specify {wanted}"
    return Explanation("QuotaNeedsResources", clause, resource=resource, reasons=reasons)


def _security(message: str) -> Explanation | None:
    match = _SECURITY.search(message)
    if not match:
        return None
    return Explanation(
        "PodSecurityDenied",
        f"the pod security level {quote(match['level'], 80)} of the project forbids it: {quote(match['why'])}",
    )


def _webhook(message: str) -> Explanation | None:
    match = _WEBHOOK.search(message) or _POLICY.search(message)
    if match:
        return Explanation(
            "AdmissionDenied",
            f"{quote(match['name'], 120)} refuses the pods: {quote(match['why']) or 'no reason given'}",
        )
    match = _UNREACHED.search(message)
    if match:
        return Explanation(
            "WebhookUnavailable",
            f"the webhook {quote(match['name'], 120)} that must agree does not answer: {quote(match['why'], 160)}",
        )
    return None


def _references(message: str) -> Explanation | None:
    account = _ACCOUNT.search(message)
    if account:
        name = (account["name"] or account["full"]).rsplit("/", 1)[-1]
        return Explanation("ServiceAccountMissing", f"the service account {quote(name, 120)} does not exist")
    priority = _PRIORITY.search(message)
    if priority:
        return Explanation("PriorityClassMissing", f"the priority class {quote(priority['name'], 120)} does not exist")
    return None


def _range(message: str) -> Explanation | None:
    match = _RANGE.search(message)
    return (
        Explanation("LimitRangeDenied", f"the LimitRange of the project refuses the pods: {quote(match['why'])}")
        if match
        else None
    )


def _other(message: str) -> Explanation | None:
    match = _FORBIDDEN.search(message)
    if not match or not match["why"].strip():
        return None
    return Explanation("AdmissionDenied", f"the API server refuses the pods: {quote(match['why'])}")
