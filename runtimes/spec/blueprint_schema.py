"""Schema of a blueprint file: a card, parameters, a start for the TrainJob, and the runtime."""

from runtimes.spec.schema import QUANTITY, Schema, anything, array, flag, integer, mapping, obj, text

TYPES = ("integer", "number", "text", "choice", "boolean", "quantity", "env", "command", "secretRef")
GROUPS = ("basic", "advanced")
_SCALAR: Schema = {"x-kubernetes-preserve-unknown-fields": True}

CARD = obj(
    {
        "title": text(minLength=1, maxLength=80),
        "summary": text(minLength=1, maxLength=200),
        "description": text(maxLength=4000),
        "framework": text(minLength=1, maxLength=40),
        "icon": text(maxLength=60),
        "tags": array(text(minLength=1, maxLength=40), maxItems=12),
        "needs": obj(
            {
                "accelerators": integer(minimum=0),
                "acceleratorResource": text(minLength=1),
                "memory": QUANTITY,
                "nodes": integer(minimum=1),
                "note": text(maxLength=300),
            }
        ),
        # Whether the local cluster can run it, and which optional extra of our packages its program needs there.
        "local": flag(),
        "extra": text(minLength=1),
    },
    ["title", "summary", "framework"],
)

PARAMETER = obj(
    {
        "name": text(pattern=r"^[a-z][a-z0-9_]*\Z", maxLength=63),
        "title": text(minLength=1, maxLength=80),
        "help": text(maxLength=500),
        "type": text(enum=list(TYPES)),
        "default": _SCALAR,
        "minimum": _SCALAR,
        "maximum": _SCALAR,
        "maxLength": integer(minimum=1),
        "pattern": text(),
        "multiline": flag(),
        "choices": array(_SCALAR, minItems=1),
        "required": flag(),
        "group": text(enum=list(GROUPS)),
        "placeholder": text(),
        "unit": text(maxLength=20),
        "resource": text(minLength=1),
        # What a true boolean writes into a template; a false one leaves the item out.
        "flag": text(minLength=1),
        # The key of the Secret that a secretRef reads if the user names none.
        "key": text(minLength=1),
        "path": _SCALAR,
    },
    ["name", "title", "type"],
)

BLUEPRINT: Schema = obj(
    {
        "card": CARD,
        "parameters": array(PARAMETER, ["name"], maxItems=60),
        # Common parameters (nodes, cpu, ...) that make no sense for this blueprint.
        "hide": array(text()),
        # What a TrainJob of this blueprint starts with; its texts may hold {{ parameter }}.
        "trainjob": obj(
            {"metadata": obj({"labels": mapping(text()), "annotations": mapping(text())}), "spec": anything()}
        ),
        "runtime": anything(),
    },
    ["card", "runtime"],
)
