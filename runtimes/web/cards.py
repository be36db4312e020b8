"""How runtimes look in the catalog and in the first step of a submission; the heavy manifests are not read for it."""

from dataclasses import dataclass

from django.conf import settings
from django.db.models import BooleanField, Case, F, Q, QuerySet, Value, When
from django.http import Http404

from runtimes.models import Runtime
from runtimes.queries import visible_runtimes
from runtimes.spec.blueprint import DEFAULT_ICON
from runtimes.spec.kinds import LABEL_SUPPORT
from trainui.accounts.models import User
from trainui.ui.icons import UnknownIcon, render_icon

CATALOG_LIMIT = 500
_SUPPORT = f"__metadata__labels__{LABEL_SUPPORT}"


@dataclass(frozen=True)
class Mark:
    """One remark on a card, as a pill."""

    text: str
    tone: str
    icon: str


@dataclass(frozen=True)
class RuntimeCard:
    """One runtime. needs: what a job of it takes, in words. here: how it runs on the local cluster, None on any other. obstacle: why it cannot run
    there, "" if it can. blueprint: it has a form of its own. path: what addresses name it by (namespace and name, or the name)."""

    name: str
    namespace: str
    title: str
    summary: str
    framework: str
    icon: str
    tags: tuple[str, ...]
    needs: list[str]
    here: Mark | None
    obstacle: str
    marks: list[Mark]
    blueprint: bool
    in_cluster: bool
    drifted: bool
    problem: str

    @property
    def path(self) -> list[str]:
        """The parts by which addresses name the runtime."""
        return [self.namespace, self.name] if self.namespace else [self.name]


def catalog(user: User) -> list[RuntimeCard]:
    """Return the runtimes that the user may see as cards, blueprints first."""
    rows = _flagged(visible_runtimes(user)).order_by(F("form").desc(), "position", "namespace", "name")
    light = rows.defer("manifest", "observed", "source", "parameters")
    return [card_of(row) for row in light[:CATALOG_LIMIT]]


def find_runtime(user: User, name: str, namespace: str = "") -> tuple[Runtime, RuntimeCard]:
    """Return one runtime with its documents, and its card. Raises Http404 for one that the user may not see as for one that is not there."""
    if "\0" in name + namespace:  # PostgreSQL takes no such text, not even to compare with
        raise Http404
    row = _flagged(visible_runtimes(user)).filter(name=name, namespace=namespace).first()
    if row is None:
        raise Http404
    return row, card_of(row)


def _flagged(rows: QuerySet[Runtime]) -> QuerySet[Runtime]:
    """Rows with what a card says of their documents: whether they are in the cluster, deprecated, and have a form."""
    deprecated = Q(**{f"observed{_SUPPORT}": "deprecated"}) | Q(**{f"manifest{_SUPPORT}": "deprecated"})
    form = Q(managed=True) & ~Q(source="")
    return rows.annotate(here=_flag(Q(observed__isnull=False)), old=_flag(deprecated), form=_flag(form))


def _flag(condition: Q) -> Case:
    return Case(When(condition, then=Value(True)), default=Value(False), output_field=BooleanField())


def card_of(row: Runtime) -> RuntimeCard:
    """Return the card of a row of `_flagged`."""
    card, in_cluster, old = row.card or {}, bool(getattr(row, "here", False)), bool(getattr(row, "old", False))
    blueprint = bool(getattr(row, "form", False))
    return RuntimeCard(
        name=row.name,
        namespace=row.namespace,
        title=row.title or row.name,
        summary=row.summary or ("" if blueprint else "A runtime of the cluster, without a form of its own."),
        framework=row.framework or "custom",
        icon=known_icon(str(card.get("icon") or DEFAULT_ICON)),
        tags=tuple(card.get("tags") or ()),
        needs=needs_of(card.get("needs") or {}),
        here=_here(card) if blueprint else None,
        obstacle=_obstacle(card) if blueprint else "",
        marks=_marks(row, in_cluster, old),
        blueprint=blueprint,
        in_cluster=in_cluster,
        drifted=row.drifted,
        problem=row.apply_error,
    )


def needs_of(needs: dict) -> list[str]:
    """Say what a job takes: nodes, accelerators and memory of each."""
    nodes = int(needs.get("nodes") or 1)
    said = [f"{nodes} node{'s' if nodes != 1 else ''}"]
    if devices := _devices(needs):
        said.append(f"{devices} per node")
    if needs.get("memory"):
        said.append(f"{needs['memory']} memory per node")
    return [*said, str(needs["note"])] if needs.get("note") else said


def _devices(needs: dict) -> str:
    """The accelerators of a node in words, "" for none."""
    count = int(needs.get("accelerators") or 0)
    resource = str(needs.get("accelerator_resource") or "")
    kind = "GPU" if resource.endswith("/gpu") else resource
    return f"{count} {kind}{'s' if count != 1 and kind == 'GPU' else ''}" if count else ""


def known_icon(name: str) -> str:
    """Return the name of an icon that there is: blueprints are written by hand."""
    try:
        render_icon(name, 24)
    except UnknownIcon:
        return DEFAULT_ICON
    return name


def _here(card: dict) -> Mark | None:
    """What this machine can do with it; nothing is said where pods run in images."""
    if settings.POD_DNS:
        return None
    if not card.get("local"):
        return Mark("needs a real cluster", "neutral", "server-stack")
    if card.get("extra"):
        return Mark(f"needs {card['extra']} installed", "info", "arrow-down-tray")
    return Mark("runs on this machine", "ok", "computer-desktop")


def _obstacle(card: dict) -> str:
    """Why this machine cannot run a blueprint: said before somebody submits a job that would wait, or fail, for it."""
    if settings.POD_DNS or card.get("local"):
        return ""
    devices = _devices(card.get("needs") or {})
    wants = f"{devices} per node, and programs" if devices else "programs"
    return (
        f"It needs {wants} that come in a container image. The local cluster has no images: it runs what is installed on this machine. "
        "Use it with a Kubernetes cluster."
    )


def _marks(row: Runtime, in_cluster: bool, old: bool) -> list[Mark]:
    marks = []
    if old:
        marks.append(Mark("deprecated", "warn", "archive-box"))
    if row.drifted:
        marks.append(Mark("drifted", "warn", "exclamation-triangle"))
    if row.apply_error:
        marks.append(Mark("cannot be applied", "error", "x-circle"))
    elif not in_cluster:
        marks.append(Mark("not in the cluster yet", "neutral", "clock"))
    return marks


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a text that was wrapped by hand: empty lines part them, other line ends mean nothing."""
    return [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]
