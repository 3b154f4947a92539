"""The installed Codex knows no message, item or decision that the dialect does not know."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.agents.codex.helpers.real_codex import IS_INSTALLED
from turnwire.agents.codex.installation import find_codex
from turnwire.dialects.codex import items, messages

pytestmark = pytest.mark.skipif(not IS_INSTALLED, reason="the extra codex is not installed")

# The decisions of a person, and those by which a person changes Codex's own policy.
DECISIONS = {"accept", "acceptForSession", "decline", "cancel"}
AMENDMENTS = {"acceptWithExecpolicyAmendment", "applyNetworkPolicyAmendment"}


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder with the schema that the program writes about itself."""
    folder = tmp_path_factory.mktemp("schema")
    command = [str(find_codex()), "app-server", "generate-json-schema", "--experimental"]
    subprocess.run([*command, "--out", str(folder)], check=True, capture_output=True)
    return folder


def methods_of(schema: Path, name: str) -> set[str]:
    kinds = json.loads((schema / name).read_text())["oneOf"]
    return {kind["properties"]["method"]["enum"][0] for kind in kinds}


def test_every_notification_is_typed_or_passed_on(schema: Path) -> None:
    known = messages.NOTIFICATIONS.keys() | messages.NEWS.keys()
    assert methods_of(schema, "ServerNotification.json") == known


def test_every_request_is_known(schema: Path) -> None:
    assert methods_of(schema, "ServerRequest.json") == messages.REQUESTS.keys()


def test_every_item_is_typed(schema: Path) -> None:
    told = json.loads((schema / "ServerNotification.json").read_text())
    kinds = told["definitions"]["ThreadItem"]["oneOf"]
    names = {kind["properties"]["type"]["enum"][0] for kind in kinds}
    assert names <= known_items()


def known_items() -> set[str]:
    """Returns the tags of the items that the dialect has types for."""
    structs: list[Any] = [getattr(items, name) for name in items.__all__]
    configs = [getattr(each, "__struct_config__", None) for each in structs]
    return {str(config.tag) for config in configs if config is not None and config.tag}


def test_every_decision_of_a_person_can_be_given(schema: Path) -> None:
    asked = json.loads((schema / "CommandExecutionRequestApprovalResponse.json").read_text())
    kinds = asked["definitions"]["CommandExecutionApprovalDecision"]["oneOf"]
    words = {word for kind in kinds for word in kind.get("enum", [])}
    amendments = {name for kind in kinds for name in kind.get("required", [])}
    assert (words, amendments) == (DECISIONS, AMENDMENTS)
