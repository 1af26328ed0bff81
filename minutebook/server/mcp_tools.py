"""The MCP server itself, over whatever transport: it lists the tools and hands each call on."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)

from minutebook.pipeline.agenttools import INSTRUCTIONS, TOOLS
from minutebook.version import __version__

NAME = "minutebook"

Answering = Callable[[str, object, str, Mapping[str, Any]], Awaitable[tuple[str, bool]]]
"""Name, arguments, the client's name and what it sent beside the call -> the text, and whether it is an error."""


def make_server(answering: Answering) -> Server[Any]:
    """A server that was not started yet. answering: must not raise."""

    async def list_tools(context: ServerRequestContext[Any], asked: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=listed())

    async def call_tool(context: ServerRequestContext[Any], asked: CallToolRequestParams) -> CallToolResult:
        meta = dict(context.meta or {})
        text, failed = await answering(asked.name, asked.arguments, client_of(context), meta)
        return CallToolResult(content=[TextContent(type="text", text=sendable(text))], is_error=failed)

    logging.getLogger("mcp").setLevel(logging.CRITICAL)  # what clients do wrong is theirs to read in the answer
    return Server(
        NAME,
        version=__version__,
        title="Minutebook",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def listed() -> list[Tool]:
    """The tools as the protocol has them: they only read, and only what is stored here."""
    hints = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
    return [
        Tool(name=tool.name, title=tool.title, description=tool.about, input_schema=tool.schema(), annotations=hints)
        for tool in TOOLS
    ]


def client_of(context: ServerRequestContext[Any]) -> str:
    """The name that the client gave itself; "" without one."""
    told = context.session.client_params
    return told.client_info.name if told is not None else ""


def sendable(text: str) -> str:
    """Lone surrogates, which JSON over UTF-8 cannot carry, as replacement marks."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
