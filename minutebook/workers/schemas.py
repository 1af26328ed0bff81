"""Schemas of tool arguments in the plain subset that every provider takes: llama.cpp, Ollama and Gemini among them."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

PLAIN = ("type", "description", "enum", "properties", "required", "items")
"""No $ref, anyOf, additionalProperties, minLength, format, title or default: some provider refuses each of them."""


def plain_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of a model's fields, in `type`, `description`, `enum`, `properties`, `required` and `items` only.

    Raises TypeError for a field that these cannot say, such as a union.
    """
    whole = model.model_json_schema()
    schema = _plain(whole, whole.get("$defs", {}))
    schema.setdefault("properties", {})
    schema.pop("description", None)
    return schema


def _plain(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    if "$ref" in node:
        found = definitions[node["$ref"].rpartition("/")[2]]
        return _plain({**found, "description": node.get("description", "")}, definitions)
    if "type" not in node:
        raise TypeError(f"no plain type: {sorted(node)}")
    plain = {key: node[key] for key in PLAIN if node.get(key)}
    if "properties" in plain:
        plain["properties"] = {name: _plain(each, definitions) for name, each in plain["properties"].items()}
    if "items" in plain:
        plain["items"] = _plain(plain["items"], definitions)
    return plain
