"""The vocabulary: phases, their actions, and the codes as the shared table has them."""

import re
from pathlib import Path

import pytest

from jobs.state import codes, phases
from jobs.state.codes import CODES
from jobs.state.phases import ACTIONS, FINISHED, PHASES, TONES
from tests.shared_data import shared_file


def test_every_phase_has_a_tone_actions_and_codes() -> None:
    for phase in PHASES.values():
        assert phase.tone in TONES
        assert set(phase.actions) <= set(ACTIONS)
        assert any(name == phase.name for name, _ in CODES)
        assert len(phase.name) <= 20


def test_what_has_ended_cannot_be_cancelled_and_what_runs_cannot_be_retried() -> None:
    for phase in PHASES.values():
        assert phases.allows(phase.name, "cancel") == (phase.name not in FINISHED and phase.name != "Deleting")
        assert phases.allows(phase.name, "retry") <= phase.finished
        assert phases.allows(phase.name, "delete")
        assert not (phases.allows(phase.name, "suspend") and phases.allows(phase.name, "resume"))
    assert phases.actions("Nowhere") == ()
    assert {"Succeeded", "Failed", "Cancelled", "Lost"} == FINISHED


def test_codes_are_short_and_belong_to_a_phase() -> None:
    for (phase, name), code in CODES.items():
        assert (code.phase, code.name) == (phase, name)
        assert phase in PHASES
        assert re.fullmatch(r"[A-Z][A-Za-z]{2,39}", name)
        assert code.tone in TONES
        assert code.title


def test_the_shared_table_of_codes_is_ours() -> None:
    """Each code of the table exists with its phase and tone; `(w)` is tone warn."""
    text = shared_file("fixtures/README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([A-Z][\w /]+?) \| (\w+) \| (.*) \|$", text, re.MULTILINE)
    listed = [(names, tone, cells) for names, tone, cells in rows if tone in TONES]
    assert len(listed) >= 14
    for names, tone, cells in listed:
        for phase, part in zip(names.split(" / "), cells.split(" / "), strict=True):
            for name, warn in re.findall(r"([A-Z]\w+)(\(w\))?", re.sub(r"\((?!w\))[^)]*\)", "", part)):
                assert CODES[phase, name].tone == ("warn" if warn else tone), (phase, name)


def test_titles_and_tones_of_what_is_not_known() -> None:
    assert codes.title("Failed", "OutOfMemory") == "Out of memory"
    assert codes.title("Failed", "Strange") == "Strange"
    assert codes.tone("Failed", "Strange") == "error"
    assert codes.tone("Nowhere", "Strange") == "unknown"


def test_a_gap_that_is_not_filled_is_a_fault() -> None:
    with pytest.raises(KeyError):
        codes.say("Failed", "OutOfMemory")
    with pytest.raises(KeyError):
        codes.say("Failed", "Strange")


def test_the_page_about_states_has_every_code() -> None:
    text = (Path(__file__).resolve().parents[3] / "docs" / "states.md").read_text(encoding="utf-8")
    rows = {
        cells[0]: cells
        for cells in (
            [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| ")
        )
    }
    for phase in PHASES.values():
        _, tone, ended, actions, names = rows[phase.name]
        own = [code for code in CODES.values() if code.phase == phase.name]
        assert (tone, ended == "yes", actions) == (phase.tone, phase.finished, ", ".join(phase.actions))
        assert names == ", ".join(
            code.name if code.tone == phase.tone else f"{code.name} ({code.tone})" for code in own
        )
