"""The tiers of the tests: which ones `make test` runs, and which ones only `make test-all` runs."""

from __future__ import annotations

__all__ = ["CANARIES", "QUICK", "VOLUME", "is_volume"]

# `make test` leaves these out: they take more than half of the time. `make test-all` runs them as well.
VOLUME = (
    "agents/acp/test_opencode.py",
    "agents/acp/test_opencode_client_tools.py",
    "agents/acp/test_opencode_engine.py",
    "agents/claude",
    "agents/codex",
    "cli/test_chat.py",
    "cli/test_completion.py",
    "cli/test_copy.py",
    "cli/test_run.py",
    "cli/test_store.py",
    "engine/test_bad_agents.py",
    "engine/test_lease.py",
    "engine/test_guarantees.py",
    "prove/test_faults.py",
    "prove/test_invariants.py",
    "prove/test_several_nodes.py",
    "prove/test_sweep.py",
    "server/agui/test_client_tools.py",
    "server/agui/test_drops.py",
    "server/agui/test_runs.py",
    "server/aisdk/test_chat.py",
    "server/aisdk/test_drops.py",
    "turn_streams/agui/test_cuts.py",
    "server/aisdk/test_socket.py",
    "server/aisdk/test_socket_transport.py",
    "turn_streams/agui/test_packages.py",
    "turn_streams/aisdk/test_cuts.py",
    "turn_streams/aisdk/test_packages.py",
    "server/nodes/test_cut_off.py",
    "server/nodes/test_sigterm.py",
    "server/test_reconnect.py",
    "server/test_crashes.py",
    "server/test_fuzz.py",
    "server/test_front_end_examples.py",
    "server/test_golden_transcripts.py",
    "server/test_killed.py",
    "server/test_mounted_shutdown.py",
    "server/test_outage.py",
    "server/test_other_process.py",
    "server/test_documentation.py",
    "server/test_rpc_reconnect.py",
    "server/test_rpc_documentation.py",
    "server/test_shown_text.py",
    "server/test_slow_clients.py",
    "test_how_to.py",
    "stores/postgres/test_commands.py",
    "stores/postgres/test_failover.py",
    "stores/postgres/test_faults.py",
    "stores/test_fsck_random.py",
    "test_light_install.py",
)
# The tests of these folders that need no program of an agent are quick.
QUICK = (
    "agents/codex/test_parts.py",
    "agents/claude/test_translation_tables.py",
    "agents/claude/test_bounds.py",
    "agents/claude/test_hooks.py",
    "agents/claude/test_model_proxy.py",
    "agents/claude/test_options.py",
    "agents/claude/test_parts.py",
    "agents/claude/test_question_machine.py",
    "agents/claude/test_recordings.py",
    "agents/claude/test_tools.py",
)
# One of each kind that is left out: a crash point and three kills on each store, a turn of the real Claude Code, a session of v2 and one of
# RPC that a killed server interrupts, connections to PostgreSQL that are cut, a promoted standby, commands on a database, a Tab in each shell, a stop. The page has its own: see `test-page-canary` in the Makefile.
CANARIES = (
    "prove/test_sweep.py::test_a_day_that_dies_when_a_step_was_written_is_finished_truthfully",
    "prove/test_sweep.py::test_three_kills_at_random_moments_lose_and_repeat_no_entry",
    "prove/test_sweep.py::test_a_day_on_postgres_that_dies_when_its_batch_is_written_is_finished_truthfully",
    "prove/test_sweep.py::test_three_kills_on_postgres_lose_and_repeat_no_entry",
    "agents/claude/test_sessions.py::test_a_prompt_that_the_program_knows_already_is_not_worked_on_twice",
    "server/test_killed.py::test_a_shutdown_ends_turns_truthfully_and_tells_clients_to_reconnect",
    "server/agui/test_client_tools.py::test_agents_say_whether_they_take_tools_of_the_front_end",
    "server/test_rpc_reconnect.py::test_a_question_outlives_the_server_that_asked_it",
    "server/aisdk/test_socket.py::test_requests_share_a_socket_and_each_has_numbers_of_its_own",
    "server/aisdk/test_socket.py::test_the_socket_for_chats_has_the_same_access_control",
    "stores/postgres/test_faults.py::test_connections_are_cut_in_the_middle_of_commits",
    "stores/postgres/test_failover.py::test_a_store_that_is_moved_to_the_promoted_standby_writes_nothing_as_before",
    "cli/test_completion.py::test_the_only_value_is_written",
    "cli/test_store.py::test_every_command_uses_the_database",
    "server/nodes/test_sigterm.py::test_after_sigterm_a_running_turn_may_end_and_its_client_stays",
)


def is_volume(place: str) -> bool:
    """Whether a test is for `make test-all` alone; `place` is its file below `tests`, `::`, and its name."""
    file = place.partition("::")[0]
    within = [each for each in VOLUME if file == each or file.startswith(f"{each}/")]
    return bool(within) and file not in QUICK and place.partition("[")[0] not in CANARIES
