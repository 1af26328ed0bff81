"""Answers that a model of 135 million parameters really gave, shortened: none of them keeps anything."""

import pytest
from builders import deliver, say
from conversing import CHOICE, Script, answer
from jobs import SMALL
from observing import context

from minutebook.errors import SpanFailed
from minutebook.settings import ModelChoice
from minutebook.store.kernel import Store
from minutebook.workers import models_facts, observer
from minutebook.workers.exchange import Ended
from minutebook.workers.model_mind import ModelMind
from minutebook.workers.observer import ObservePrepared

TINY = ModelChoice(provider="openai", id="smollm2")

TALKED_ABOUT_THE_TOOL = (
    "You can add your own words to the source. A simple change, just like you told me to. "
    "You can call `nothing_to_record` on that source."
)
FORBADE = (
    "You cannot use the `record_observations` command in a loop, and you can only record the entire source if the "
    "output is a JSON file.\nYou cannot use the `record_observations` command when you need to keep the source."
)
ADVISED = (
    "You can save the logs to a file, or the logs themselves are in a file that you can use for debugging purposes, "
    "or you can just save them to the file."
)
HEADINGS = (
    "# What's new\n\nThe session contains new facts, but the actual source is:\n\n- What's new\n\n# What's new\n\n"
    "A new fact is written, but the original fact is no longer true because of it."
)
PLACEHOLDERS = "# What I read\n\n" + "".join(
    f'- "The user was asked to do {letter}, but they did not answer."\n\n' for letter in "XYXYZXZYYZXY"
)
FORGED_SOURCES = (
    "You can find a list of the sources that are used to record this session:\n\n[s1] user, 2025-10-14 22:18\n"
    'This is a source called "s1", and it is not the only one, it is part of a source called "s1".\n\n'
    '[s2] user, 2025-10-23 14:41\nThis is a source called "s2", which is not part of a source called "s3", but it is'
)
WENT_ON_WITH_THE_PROMPT = (
    "[s5] user, 2025-10-14 07:20\nYes, the user said that.\n\n[s6] user, 2025-10-14 07:20\nThat is, a result of a call "
    "that was made.\n\n# Current time\n\n[s11] assistant, 2025-10-14 07:27\nThe user said.\n\n# Current time"
)
FINISHED = "You have completed the task."
SELF_IMAGE = "You're all set.\n\n" + "You're just looking at yourself, and your own self-image.\n\n" * 100
FORCED_NUMBERS = """{
  "observations": [
    {
      "content": "2026-11-12 21:53:19.2507738-092245251230915414",
      "timestamp": "2026-11-12 21:53:19.2507738-092245251230915414",
      "relevance": "critical",
      "sources": ["s1"],
      "supersedes": ["s2", "s4"]
    }
  ]
}"""
FORCED_NOTHING = '{\n\n"observations"\n\n:\n\n[\n\n]\n\n}'
FORCED_CUT = (
    '{\n  "observations" : [\n    {\n      "content": "I\'m glad I have an assistant, she is always helpful.'
    + (" I'm glad to see different kinds of data," * 3)
)
"""Three answers to a server that holds the model to the schema of the arguments."""


def think(store: Store, text: str, ended: Ended, tools_supported: bool) -> tuple[Script, str]:
    """One run of the observer; what was asked, and why it failed."""
    return run(store, Script(answer(text=text, ended=ended)), tools_supported)


def run(store: Store, script: Script, tools_supported: bool = True) -> tuple[Script, str]:
    branch = deliver(store, [say("Use port 8081", id="e1"), say("And keep the logs", id="e2")])
    prepared = observer.prepare(context(store, branch, settings=SMALL))
    assert isinstance(prepared, ObservePrepared)
    mind = ModelMind(CHOICE, script, SMALL, session="s1", branch=branch.key, tools_supported=tools_supported)
    with pytest.raises(SpanFailed) as failed:
        observer.think(prepared, mind)
    return script, str(failed.value.reason)


@pytest.mark.parametrize("tools_supported", [True, False])
@pytest.mark.parametrize(
    ("text", "ended", "reason"),
    [
        (TALKED_ABOUT_THE_TOOL, "stop", "nothing_called"),
        (FORBADE, "stop", "nothing_called"),
        (ADVISED, "stop", "nothing_called"),
        (HEADINGS, "stop", "nothing_called"),
        (PLACEHOLDERS, "stop", "nothing_called"),
        (FORGED_SOURCES, "stop", "nothing_called"),
        (FINISHED, "stop", "nothing_called"),
        (FORGED_SOURCES, "length", "cut"),
        (WENT_ON_WITH_THE_PROMPT, "length", "cut"),
        (SELF_IMAGE, "stop", "rubbish"),
        (SELF_IMAGE, "length", "cut"),
    ],
)
def test_prose_is_no_record_and_no_ending_003_010(
    store: Store, text: str, ended: Ended, reason: str, tools_supported: bool
) -> None:
    """And it is asked once: nothing in it could be corrected."""
    script, why = think(store, text, ended, tools_supported)
    assert (why, len(script.requests)) == (reason, 1)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (FORCED_NUMBERS, "timestamp: must be a real time"),
        (FORCED_NOTHING, "the list is empty"),
        (FORCED_CUT, "not readable as JSON"),
    ],
)
def test_rubbish_in_the_right_shape_is_refused_with_a_reason_003_010(store: Store, arguments: str, told: str) -> None:
    """An empty list is not the explicit nothing; and what follows it as prose does not make it one."""
    script, why = run(store, Script(answer(("record_observations", arguments)), answer(text=FINISHED)))
    assert len(script.requests) == 2 and told in script.requests[-1].messages[-1].text
    assert why in ("all_refused", "nothing_called")


@pytest.mark.usefixtures("litellm")
@pytest.mark.parametrize(
    ("window", "limit"), [(None, 32_000), (1_000_000, 32_000), (128_000, 32_000), (4_096, 1_024), (3, 1)]
)
def test_a_model_without_a_known_maximum_has_a_quarter_of_its_window_003_130(window: int | None, limit: int) -> None:
    assert models_facts.output_limit(TINY, window) == limit
    assert models_facts.output_limit(ModelChoice(provider="openai", id="gpt-4o"), window) == 16_384
