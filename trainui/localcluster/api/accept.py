"""In which form a client wants its answer."""

from dataclasses import dataclass

from starlette.requests import Request

from trainui.localcluster.errors import ApiError

TABLE, PARTIAL, PLAIN = "Table", "PartialObjectMetadata", ""


@dataclass(frozen=True, slots=True)
class Form:
    """The form of an answer: whole objects, metadata only, or a Table whose rows carry `include` of the object."""

    name: str = PLAIN
    include: str = "Metadata"


def wanted_form(request: Request) -> Form:
    """Return the first form in the Accept header that we have. Raises ApiError 406 when there is none."""
    header = request.headers.get("accept", "") or "*/*"
    for entry in header.split(","):
        media, *parameters = [part.strip() for part in entry.split(";")]
        if media not in ("application/json", "application/*", "*/*"):
            continue
        values = dict(parameter.partition("=")[::2] for parameter in parameters)
        form = values.get("as", "").removesuffix("List")
        if form == PLAIN:
            return Form()
        if values.get("g") == "meta.k8s.io" and values.get("v") in ("v1", "v1beta1") and form in (TABLE, PARTIAL):
            return Form(form, request.query_params.get("includeObject") or "Metadata")
    message = "only the following media types are accepted: application/json"
    raise ApiError(406, "NotAcceptable", message)


def wants_aggregated(request: Request) -> bool:
    """Tell whether a client asks for the aggregated discovery document."""
    for entry in request.headers.get("accept", "").split(","):
        if (
            "as=APIGroupDiscoveryList" in entry
            and "g=apidiscovery.k8s.io" in entry
            and "v=v2" in entry.replace("v=v2beta1", "")
        ):
            return True
        if entry.strip().startswith("application/json") and "as=" not in entry:
            return False
    return False
