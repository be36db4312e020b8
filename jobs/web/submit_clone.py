"""A submission that begins as a copy of a job."""

import uuid
from dataclasses import dataclass, field
from typing import Any

from django.http import Http404, HttpRequest

from jobs import services
from jobs.models import TrainJob
from jobs.queries.job import visible_job
from jobs.spec.export import export_trainjob
from jobs.web.forms import PREFIX
from jobs.web.forms_text import spoken_path, text_of, without_secrets
from jobs.web.people import person
from runtimes.models import Runtime
from runtimes.spec.blueprint import Blueprint


@dataclass(frozen=True)
class Copy:
    """Where a copy comes from. blueprint: the form to open, "" when only the manifest tells what the job was."""

    job: TrainJob
    blueprint: str
    parameters: dict[str, Any]
    manifest: dict[str, Any]
    left_out: list[str] = field(default_factory=list)

    def initial(self, blueprint: Blueprint) -> dict[str, Any]:
        """Return the values of the form; secrets are left out and noted, since somebody else may have typed them."""
        values: dict[str, Any] = {}
        for parameter in blueprint.parameters:
            if parameter.name not in self.parameters:
                continue
            text, left = without_secrets(parameter, text_of(parameter, self.parameters[parameter.name]))
            values[PREFIX + parameter.name] = text == "true" if parameter.type == "boolean" else text
            self.left_out.extend(left)
        return values

    def document(self, name: str) -> dict[str, Any]:
        """Return the job's manifest under a new name, as it may be shown to anybody who may see the job."""
        manifest, omitted = export_trainjob(self.manifest)
        self.left_out.extend(spoken_path(self.manifest, o.path) for o in omitted if "secret" in o.reason)
        manifest["metadata"] = {**manifest.get("metadata", {}), "name": name}
        return manifest


def copy_of(request: HttpRequest) -> Copy | None:
    """Return the copy that an address or form asks for, None if it asks for none.

    Raises Http404 for the address of a job that the user may not see; a form goes on without a job that was deleted meanwhile.
    """
    user = person(request)
    try:
        job = visible_job(user, uuid.UUID(request.POST.get("clone") or request.GET.get("clone") or ""))
    except ValueError:
        return None
    except Http404:
        if request.method == "POST":
            return None
        raise
    blueprint, parameters, manifest = services.clone_values(user, job)
    known = bool(blueprint) and Runtime.objects.filter(name=blueprint, managed=True).exclude(source="").exists()
    return Copy(job, blueprint if known else "", parameters or {}, manifest)
