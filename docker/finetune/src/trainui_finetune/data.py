"""From rows of a data set, whatever their columns, to what trl trains on."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]
Example = dict[str, Any]

FORMATS = {".json": "json", ".jsonl": "json", ".parquet": "parquet", ".csv": "csv"}
COLUMNS = "instruction and output, prompt and completion, question and answer, messages, or text"
_PAIRS = (("instruction", "output"), ("prompt", "completion"), ("question", "answer"), ("prompt", "response"))


class DataError(ValueError):
    """Data that nothing can be learnt from; the message says what to change."""


def source(name: str) -> dict[str, Any]:
    """Return what `datasets.load_dataset` takes for a name on the hub, a file, or a folder of files of one format.

    Raises DataError for a file or folder without a format that is known.
    """
    path = Path(name)
    if not path.exists():
        if path.is_absolute() or name.startswith("."):
            raise DataError(f"There is no file or folder {name}.")
        return {"path": name}
    files = sorted(p for p in path.rglob("*") if p.suffix in FORMATS) if path.is_dir() else [path]
    formats = {FORMATS[p.suffix] for p in files if p.suffix in FORMATS}
    if len(formats) != 1:
        found = f"files of {len(formats)} formats" if formats else "no file of a known format"
        raise DataError(f"{name} has {found}; put one of {', '.join(FORMATS)} there.")
    return {"path": formats.pop(), "data_files": [str(p) for p in files]}


def example(row: Row, chat: bool) -> Example:
    """Return one row as trl wants it: prompt and completion, so that only the answer is learnt; a text without parts is learnt whole.

    chat: the tokenizer has a template for conversations; without one, prompt and completion are plain text.
    Raises DataError for a row of other columns, or without an answer.
    """
    if isinstance(row.get("messages"), list):
        return _conversation(row["messages"], chat)
    for asked, answered in _PAIRS:
        if asked in row and answered in row:
            return _pair(_prompt(row, asked), row[answered], chat)
    if isinstance(row.get("text"), str) and row["text"].strip():
        return {"text": row["text"]}
    raise DataError(f"A row has the columns {', '.join(sorted(row)) or 'none'}; what is understood is {COLUMNS}.")


def _prompt(row: Row, asked: str) -> Any:
    """The question, with the further input that Alpaca's rows have."""
    more = row.get("input")
    return f"{row[asked]}\n\n{more}" if isinstance(more, str) and more.strip() else row[asked]


def _pair(prompt: Any, completion: Any, chat: bool) -> Example:
    if isinstance(prompt, list) and isinstance(completion, list):
        return _conversation([*prompt, *completion], chat)
    if not isinstance(prompt, str) or not isinstance(completion, str) or not completion.strip():
        raise DataError("A row has no answer, or one that is no text.")
    if chat:
        return {
            "prompt": [{"role": "user", "content": prompt}],
            "completion": [{"role": "assistant", "content": completion}],
        }
    return {"prompt": f"{prompt}\n\n", "completion": completion}


def _conversation(messages: list[Any], chat: bool) -> Example:
    """Return a conversation whose last turn, the assistant's, is what is learnt."""
    turns = [{"role": str(m.get("role")), "content": str(m.get("content"))} for m in messages if isinstance(m, Mapping)]
    if len(turns) < 2 or turns[-1]["role"] != "assistant" or not turns[-1]["content"].strip():
        raise DataError("A conversation must end with a turn of the assistant, after at least one other.")
    if chat:
        return {"prompt": turns[:-1], "completion": turns[-1:]}
    before = "\n\n".join(f"{turn['role']}: {turn['content']}" for turn in turns[:-1])
    return {"prompt": f"{before}\n\nassistant: ", "completion": turns[-1]["content"]}
