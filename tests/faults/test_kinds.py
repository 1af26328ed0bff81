"""What users of such systems hit, kind by kind, and the test that drives it here. Held to the tests below.

A kind that only a later part can have says why in `later`.
"""

import ast
from pathlib import Path
from typing import NamedTuple

import pytest

TESTS = Path(__file__).resolve().parents[1]


class Kind(NamedTuple):
    """One kind of fault. tests: file below tests/, `::`, name."""

    kind: str
    tests: tuple[str, ...] = ()
    later: str = ""


HERE = "faults/test_observing_faults.py"
MODEL = "acceptance/test_model_faults.py"
WORKER = "acceptance/test_worker_process.py"

MEMORY = (
    Kind("the backlog outgrows the model's window", (f"{HERE}::test_fault_backlog_outgrows_the_window",)),
    Kind(
        "nothing to record is asked again every turn",
        ("acceptance/test_model_cycle.py::test_nothing_to_record_is_asked_once_003_009",),
    ),
    Kind(
        "a broken stream passes for nothing to record",
        (f"{MODEL}::test_an_answer_cut_after_two_accepted_calls_commits_nothing_and_loses_nothing",),
    ),
    Kind(
        "an entry larger than threshold or chunk is never observed",
        (f"{HERE}::test_fault_one_entry_larger_than_threshold_and_chunk",),
    ),
    Kind(
        "a result is counted at a cap and sent whole, or the reverse",
        (f"{HERE}::test_fault_counted_at_a_cap_but_sent_whole_or_the_reverse",),
    ),
    Kind(
        "rendered memory is larger than its budget",
        (
            "pipeline/test_compaction.py::test_the_whole_text_stays_within_its_budget_003_074",
            "properties/test_reading_properties.py::test_no_content_passes_the_budget_or_leaves_its_line_003_074_003_084",
        ),
    ),
    Kind(
        "token estimates are far off for some texts",
        (
            f"{HERE}::test_fault_token_estimates_are_off_by_four",
            "pipeline/test_calibration.py::test_intake_learns_once_whatever_comes_twice_003_054",
        ),
    ),
    Kind(
        "the observer waits for a compaction or a prompt",
        (f"{HERE}::test_fault_observer_never_fires_without_a_compaction_or_a_prompt",),
    ),
    Kind(
        "the dropper runs for ever and drops nothing",
        (f"{HERE}::test_fault_dropper_runs_for_ever_and_drops_nothing",),
    ),
    Kind(
        "reflections and folds grow without end",
        (
            "pipeline/test_rendering.py::test_five_thousand_reflections_without_a_digest_stay_within_the_budget_003_074",
            "pipeline/test_folds.py::test_a_fold_does_not_grow_over_100_compactions_003_077",
        ),
    ),
    Kind("one invented id costs nine good records", (f"{MODEL}::test_a_hallucinated_id_among_nine",)),
    Kind(
        "the reflector's input outgrows the window",
        (
            "workers/test_reflector.py::test_what_does_not_fit_the_window_is_counted_003_020",
            "workers/test_reflector.py::test_half_of_the_window_or_of_a_small_one_a_quarter_is_for_memory_003_020",
        ),
    ),
    Kind(
        "coverage moves although the run failed",
        (
            f"{HERE}::test_fault_coverage_moves_on_an_answer_that_was_all_reasoning",
            f"{MODEL}::test_a_failing_provider_covers_nothing_and_counts_against_no_span",
        ),
    ),
    Kind(
        "coverage jumps over what nobody read",
        (
            f"{HERE}::test_fault_coverage_jumps_over_what_arrived_meanwhile",
            "properties/test_ledger.py::test_coverage_passes_only_what_was_sent_or_listed",
        ),
    ),
    Kind(
        "old memory before each request grows without a bound",
        ("workers/test_observer_old_memory.py::test_old_memory_stays_within_its_bound_003_017",),
    ),
    Kind(
        "a model repeats itself without end, or honest logs are taken for that",
        (f"{MODEL}::test_endless_repetition_in_a_call_is_rubbish_and_an_honest_log_is_not",),
    ),
    Kind(
        "a compaction without memory replaces the context by nothing",
        ("pipeline/test_compaction.py::test_sources_alone_make_no_compaction_003_066",),
    ),
    Kind(
        "a mark that somebody works stays for ever",
        (
            f"{WORKER}::test_a_worker_killed_in_a_run_is_replaced_and_it_is_recorded_once_003_169_003_170",
            "environment/test_clock.py::test_a_dead_worker_s_claim_is_free_within_its_lease",
        ),
    ),
    Kind("memory's own text is observed again", (f"{HERE}::test_fault_own_text_is_observed_again_and_grows",)),
    Kind(
        "nothing is recorded for weeks and nothing says so",
        ("cli/test_status.py::test_exit_code_1_when_memory_is_due_and_not_made_003_105",),
    ),
    Kind("a tool call that was denied is not seen", (f"{HERE}::test_fault_a_denied_tool_call_is_invisible",)),
)

PROVIDERS = (
    Kind(
        "prose instead of a tool call",
        (
            f"{MODEL}::test_prose_or_an_apology_instead_of_a_tool_call_poisons_or_loops_the_queue",
            f"{MODEL}::test_prose_before_a_call_is_no_harm",
        ),
    ),
    Kind("identical refusals by the thousand", (f"{MODEL}::test_thousands_of_identical_400s_no_cooldown",)),
    Kind("cost without a bound", (f"{MODEL}::test_runaway_cost",)),
    Kind(
        "a parameter that one provider refuses",
        (
            f"{MODEL}::test_request_parameters_that_one_provider_refuses",
            f"{MODEL}::test_a_model_without_tool_calling_is_asked_for_json",
        ),
    ),
    Kind(
        "a prompt names a tool that is not passed",
        (f"{MODEL}::test_the_worker_s_prompt_names_a_tool_that_was_not_passed",),
    ),
)

STORAGE = (
    Kind(
        "a job is lost with its worker",
        (
            f"{WORKER}::test_a_worker_killed_in_a_run_is_replaced_and_it_is_recorded_once_003_169_003_170",
            "killing/test_queue_killed.py::test_a_worker_killed_in_its_queue_or_its_fifo",
        ),
    ),
    Kind("a lock is held by a dead process", (f"{WORKER}::test_another_worker_that_runs_already_takes_over_003_169",)),
    Kind(
        "the database is locked",
        (
            f"{HERE}::test_fault_a_transaction_is_held_across_a_model_call",
            "killing/test_processes.py::test_processes_at_once_lose_nothing",
        ),
    ),
    Kind(
        "of two writers the last one wins",
        (
            "pipeline/test_races.py::test_processes_deliver_the_same_session_at_once",
            "pipeline/test_outcomes.py::test_of_many_at_once_one_wins",
        ),
    ),
    Kind(
        "a cursor is written before its data, or nothing is compared",
        ("pipeline/test_crashes.py::test_an_outcome", "pipeline/test_crashes.py::test_a_delivery_from_the_beginning"),
    ),
    Kind(
        "what is appended between a read and a write is lost",
        (
            "pipeline/test_intake.py::test_a_session_written_by_another_meanwhile_is_taken_up_from_there",
            "pipeline/test_outcomes.py::test_entries_of_other_roles_meanwhile_are_no_conflict_003_167",
        ),
    ),
    Kind(
        "a write-ahead log where the file system cannot have one",
        ("store/test_sqlite.py::test_the_journal_is_deleted_and_synced_in_full",),
    ),
    Kind(
        "workers leak by the thousand",
        (f"{WORKER}::test_a_worker_that_is_idle_leaves_and_no_bell_finds_it",),
        later="no hook starts a worker yet; that one at most is started comes with the hosts",
    ),
    Kind(
        "memory bleeds between sessions and forks",
        (
            "pipeline/test_forks.py::test_nothing_that_comes_later_crosses_on_either_side_003_156_003_157",
            "pipeline/test_forks.py::test_siblings_do_not_see_each_other_003_156",
            "pipeline/test_recall.py::test_an_id_of_a_sibling_is_not_found_like_a_random_one_003_087",
        ),
    ),
    Kind("worktrees split or hide a project's memory", later="there is no memory across sessions yet"),
    Kind(
        "a call is cut from its result",
        (
            "pipeline/test_excerpts.py::test_no_call_without_its_result_and_no_result_without_its_call_003_075",
            "workers/test_replay_turns.py::test_no_result_is_cut_from_its_call",
        ),
    ),
    Kind(
        "an event comes twice, out of order, or half-written",
        (
            "properties/test_ledger.py::test_any_order_of_delivery_loses_nothing",
            "properties/test_ledger.py::test_pieces_and_repetitions_change_nothing",
            "hosts/test_lines.py::test_half_written_last_line_waits",
        ),
    ),
)

PEOPLE = (
    Kind(
        "odd text: lone surrogates, NUL, very long lines, unknown rows",
        (
            "pipeline/test_intake.py::test_texts_with_lone_surrogates_and_nul_are_kept",
            "hostile/test_memory.py::test_record_of_ten_megabytes_costs_a_few_times_its_size",
            "hostile/test_fuzzed_transcripts.py::test_broken_records_do_no_harm",
            "environment/test_processes.py::test_odd_text_on_an_ascii_terminal",
        ),
    ),
    Kind(
        "events are dated to the day of the import, or shifted by zone or DST",
        (
            "environment/test_zones.py::test_a_store_reads_the_same_on_any_machine",
            "environment/test_zones.py::test_a_night_in_which_the_clocks_change",
        ),
    ),
    Kind("no clipboard program", ("cli/test_view.py::test_none_works_003_109",)),
    Kind(
        "a slow hook blocks the agent",
        ("meta/test_hook_imports.py::test_a_hook_that_answers_loads_nothing_slow",),
        later="the hooks themselves come with the hosts; the way that answers is held to what it loads",
    ),
    Kind(
        "secrets are stored and shown",
        (
            "properties/test_ledger.py::test_no_secret_reaches_the_file",
            "pipeline/test_intake.py::test_secrets_are_gone_before_the_first_write",
            "cli/test_ingest.py::test_secrets_are_not_stored",
        ),
    ),
    Kind(
        "stored text becomes an instruction",
        (
            f"{MODEL}::test_a_model_that_obeys_an_instruction_hidden_in_a_tool_result",
            "pipeline/test_rendering.py::test_content_can_neither_end_its_block_nor_add_to_it_003_084",
        ),
    ),
    Kind("a service that others can reach", later="nothing listens on a network yet"),
    Kind("an install rewrites what others configured", later="nothing is installed into a host yet"),
)

KINDS = (*MEMORY, *PROVIDERS, *STORAGE, *PEOPLE)


def named_in(file: Path) -> set[str]:
    """Names of test functions, of classes too."""
    tree = ast.parse(file.read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_a_kind_has_a_test_that_exists_or_a_reason(kind: Kind) -> None:
    assert kind.tests or kind.later
    for named in kind.tests:
        file, _, name = named.partition("::")
        assert name in named_in(TESTS / file), named


def test_each_kind_stands_once() -> None:
    assert len({kind.kind for kind in KINDS}) == len(KINDS) >= 46


def test_none_of_the_faults_is_left_out_of_the_table() -> None:
    named = {test.partition("::")[2] for kind in KINDS for test in kind.tests}
    own = {name for file in (TESTS / "faults").glob("test_*.py") for name in named_in(file)}
    assert {name for name in own if name.startswith("test_fault_")} <= named
