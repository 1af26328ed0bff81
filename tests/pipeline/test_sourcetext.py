"""A source entry as text, and what it weighs."""

import pytest

from minutebook.pipeline.sourcetext import entry_text, entry_tokens, renders_to_nothing
from minutebook.records import Part, SourceEntry
from minutebook.tokens import IMAGE_TOKENS, estimate_tokens

TEXT = Part(kind="text", text="Hello\nthere.")
THOUGHT = Part(kind="thinking", text="Let me see.")
CALL = Part(kind="tool_call", name="bash", call_id="c1", text='{"command":"ls"}')
IMAGE = Part(kind="image", text="[image image/png, 2048 bytes]")
OTHER = Part(kind="other", text="[document]")


def entry(*parts: Part, role: str = "assistant") -> SourceEntry:
    return SourceEntry(id="e", role=role, parts=parts)


def test_each_kind_of_content_in_its_order_003_003_003_095():
    assert entry_text(entry(THOUGHT, TEXT, CALL, IMAGE, OTHER)) == (
        "[thinking]\nLet me see.\n"
        "Hello\nthere.\n"
        '[call bash {"command":"ls"}]\n'
        "[image image/png, 2048 bytes]\n"
        "[document]"
    )


@pytest.mark.parametrize("role", ["user", "tool_result"])
def test_images_of_users_and_tools_leave_a_trace_003_003(role: str):
    assert entry_text(entry(IMAGE, role=role)) == "[image image/png, 2048 bytes]"
    bare = Part(kind="image", text="image/png, 2048 bytes".removeprefix("image/")[-10:])
    assert entry_text(entry(bare, role=role)) == "[image 2048 bytes]"


def test_call_without_arguments():
    assert entry_text(entry(Part(kind="tool_call", name="stop"))) == "[call stop]"


@pytest.mark.parametrize("parts", [(), (Part(kind="text", text=" \n"),), (Part(kind="thinking"),)])
def test_entry_that_renders_to_nothing_003_003(parts: tuple[Part, ...]):
    assert renders_to_nothing(entry(*parts))


@pytest.mark.parametrize("part", [TEXT, THOUGHT, CALL, IMAGE, OTHER])
def test_entry_that_renders_to_something(part: Part):
    assert not renders_to_nothing(entry(part))


def test_weight_is_the_estimate_of_the_text_and_a_constant_an_image_003_085():
    assert entry_tokens(entry(TEXT)) == 3
    assert entry_tokens(entry(Part(kind="text", text="日本語"))) == 3
    assert entry_tokens(entry(TEXT, IMAGE, IMAGE)) == estimate_tokens(entry_text(entry(TEXT, IMAGE, IMAGE))) + 2_400
    assert IMAGE_TOKENS == 1_200
