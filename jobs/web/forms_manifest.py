"""The form that takes a TrainJob as YAML or JSON, and shows next to the text what is wrong with it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import yaml
from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.http import QueryDict

from jobs.spec.manifest import MAX_BYTES, ManifestError, load_manifest
from jobs.web.forms import project_field, sentence
from runtimes.spec.findings import Finding

TROUBLES_SHOWN = 20
_AROUND = 2
_WIDTH = 100
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class TextLine:
    """One line of the text near a trouble. mark: blanks up to the wrong column, for the trouble's own line."""

    number: int
    text: str
    wrong: bool = False
    mark: str = ""


@dataclass(frozen=True)
class Trouble:
    """One thing that is wrong with a manifest, and where: the field, the line, the lines around it. Line 0 is not known."""

    message: str
    path: str
    line: int
    column: int
    lines: list[TextLine]


class ManifestForm(forms.Form):
    """Project, text, and a file that takes the place of the text.

    manifest: what was read, None before or when nothing could be. troubles: what is wrong with it.
    """

    use_required_attribute = False
    text = forms.CharField(
        label="Manifest",
        error_messages={"required": "Paste a TrainJob, or choose a file."},
        strip=False,
        widget=forms.Textarea(attrs={"class": "mono", "rows": 22, "spellcheck": "false", "autocapitalize": "none"}),
    )
    file = forms.FileField(
        label="Or a file",
        required=False,
        help_text="YAML or JSON. It takes the place of the text.",
        widget=forms.FileInput(attrs={"accept": ".yaml,.yml,.json,application/yaml,application/json"}),
    )

    def __init__(
        self,
        projects: list[str],
        data: QueryDict | None = None,
        file: UploadedFile | None = None,
        initial: dict[str, Any] | None = None,
    ) -> None:
        self.unreadable = ""
        if data is not None and file is not None:
            text, self.unreadable = _text_of(file)
            if not self.unreadable:
                data = data.copy()
                data["text"] = text
        super().__init__(data, initial=initial or {})
        field = project_field(projects, "As the manifest says", required=False)
        self.fields["project"] = field
        self.order_fields(["project", "text", "file"])
        self.projects = projects
        self.manifest: dict[str, Any] | None = None
        self.troubles: list[Trouble] = []
        self.more = 0

    @property
    def source(self) -> str:
        """The text as it was sent."""
        return str(self.data.get("text", ""))

    def clean(self) -> dict[str, Any]:
        """Read the manifest, and say which project it goes to: the chosen one, else its namespace."""
        data = super().clean() or {}
        if self.unreadable:
            self.add_error("file", self.unreadable)
        elif "text" not in self.errors:
            try:
                self.manifest = load_manifest(self.source)
            except ManifestError as error:
                self.add_findings(error.findings)
        if self.manifest is not None and not data.get("project") and "project" not in self.errors:
            data["project"] = self._namespace(self.manifest)
        return data

    def _namespace(self, manifest: dict[str, Any]) -> str:
        metadata = manifest.get("metadata")
        name = metadata.get("namespace") if isinstance(metadata, dict) else None
        if not name:
            self.add_error("project", "The manifest names no namespace: choose the project.")
        elif name not in self.projects:
            self.add_error("project", f"The manifest goes to “{str(name)[:63]}”, where you may not submit.")
        else:
            return str(name)
        return ""

    def add_findings(self, findings: Iterable[Finding]) -> None:
        """Put findings below the text, each with the lines it is about."""
        found = list(findings)
        room = max(TROUBLES_SHOWN - len(self.troubles), 0)
        places = _Places(self.source)
        self.troubles += [_trouble(self.source, finding, places) for finding in found[:room]]
        self.more += len(found) - min(room, len(found))
        if found and "text" not in self.errors:
            number = len(found)
            self.add_error(
                "text", "One thing is wrong with it." if number == 1 else f"{number} things are wrong with it."
            )


def _text_of(file: UploadedFile) -> tuple[str, str]:
    content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        return "", f"The file is larger than {MAX_BYTES:,} bytes."
    try:
        return content.decode("utf-8-sig"), ""
    except UnicodeDecodeError as error:
        return "", f"The file is not UTF-8 text (byte {error.start + 1})."


def _trouble(source: str, finding: Finding, places: "_Places") -> Trouble:
    line, column = finding.params.get("line"), finding.params.get("column")
    if not isinstance(line, int):
        line, column = places.find(finding)
    column = column if isinstance(column, int) else 0
    return Trouble(sentence(finding.message), finding.path, line, column, _excerpt(source, line, column))


def _excerpt(source: str, line: int, column: int) -> list[TextLine]:
    if line < 1:
        return []
    rows = source.splitlines()
    # An error at the end of the text is about what stands before it.
    wrong = min(line, len(rows))
    start, end = max(wrong - _AROUND, 1), min(wrong + 1, len(rows))
    first = max(column - _WIDTH // 2, 0) if column > _WIDTH else 0
    found = []
    for number in range(start, end + 1):
        text = rows[number - 1][first : first + _WIDTH]
        before = "".join("\t" if char == "\t" else " " for char in text[: column - 1 - first]) if column else ""
        found.append(TextLine(number, text, number == wrong, before if number == line and column else ""))
    return found


class _Places:
    """Where fields stand in a YAML text. A text that cannot be read has no places."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._root: Any = None
        self._read = False

    def find(self, finding: Finding) -> tuple[int, int]:
        """Return line and column of the field of a finding, or of the deepest part of its path that is there; (0, 0) for none."""
        if not self._read:
            self._read = True
            try:
                self._root = yaml.compose(self._source, Loader=_LOADER)
            except (yaml.YAMLError, RecursionError):
                self._root = None
        node, mark = self._root, None
        for part in [p.replace("~1", "/").replace("~0", "~") for p in finding.pointer.split("/")[1:]]:
            key, node = _step(node, part)
            if key is None:
                break
            mark = key.start_mark
        return (mark.line + 1, mark.column + 1) if mark else (0, 0)


def _step(node: Any, part: str) -> tuple[Any, Any]:
    """Return the node that marks a step, and the node it leads to: a key and its value, or an item twice."""
    if isinstance(node, yaml.MappingNode):
        return next(((key, value) for key, value in node.value if getattr(key, "value", None) == part), (None, None))
    if isinstance(node, yaml.SequenceNode):
        if part.isdigit() and int(part) < len(node.value):
            return node.value[int(part)], node.value[int(part)]
        for item in node.value:  # a variable by its name
            name = _step(item, "name")[1] if isinstance(item, yaml.MappingNode) else None
            if getattr(name, "value", None) == part:
                return item, item
    return None, None
