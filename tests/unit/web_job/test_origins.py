"""Effective values and their origin, arranged for the card."""

from jobs.spec.masking import MASK
from jobs.spec.provenance import Origin
from jobs.web.job.origins import arrange, shown


def test_sections_keep_their_order_and_reserved_variables_stand_apart():
    found = arrange(
        [
            Origin("", "nodes", 2, "runtime", "torch", "", ("default",)),
            Origin("node", "image", "a:1", "job", "", "spec.trainer.image", ("runtime",)),
            Origin("node", "env[PET_NNODES]", "set for every rank", "policy", "torch"),
        ]
    )
    assert [(s.title, [r.field for r in s.rows]) for s in found.sections] == [("", ["nodes"]), ("node", ["image"])]
    assert found.reserved == ["PET_NNODES"]
    assert not found.masked


def test_defaults_are_not_named_as_overridden_and_the_runtime_not_by_name():
    row = arrange([Origin("", "nodes", 2, "runtime", "torch", "", ("default",))]).sections[0].rows[0]
    assert (row.word, row.name, row.overrides) == ("Runtime", "", "")
    row = (
        arrange([Origin("", "nodes", 3, "parameter", "nodes", "", ("default", "runtime", "patch a"))])
        .sections[0]
        .rows[0]
    )
    assert (row.word, row.name, row.overrides) == ("Parameter", "nodes", "runtime, patch")


def test_values_in_one_line():
    assert shown(["python", "a b.py", "--token", "x"]) == f"python 'a b.py' --token '{MASK}'"
    assert shown({"a": 1}) == '{"a":1}'
    assert shown(3) == "3"
    assert "FAKE" not in shown({"note": "hf_FAKEFAKEFAKE1234"})
