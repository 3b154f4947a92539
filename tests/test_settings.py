"""Settings: a flag goes before the environment, then turnwire.toml, then the default."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from turnwire import create_app
from turnwire.server.api.routes import API, OPEN
from turnwire.settings import BadSetting, Settings, flag_of_v2, read_settings
from turnwire.settings_check import check_settings


def test_each_setting_names_its_source(tmp_path: Path) -> None:
    file = tmp_path / "turnwire.toml"
    file.write_text('port = 1\nhost = "::1"\nagent = "replay"\nroots = ["/a"]\n')
    environ = {"TURNWIRE_PORT": "2", "TURNWIRE_HOST": "localhost", "TURNWIRE_ORIGINS": "a, b,"}
    settings, told = read_settings(
        {"port": 3, "agent": None}, defaults={"max_queue": 4}, environ=environ, file=file
    )
    assert (settings.port, settings.host, settings.agent) == (3, "localhost", "replay")
    assert (settings.origins, settings.roots, settings.max_queue) == (["a", "b"], ["/a"], 4)
    sources = {each.name: each.source for each in told}
    assert sources["port"] == "--port"
    assert sources["host"] == "TURNWIRE_HOST"
    assert sources["agent"] == str(file)
    assert sources["max_queue"] == "default"


def test_the_flag_of_the_protocol_has_a_name_of_its_own() -> None:
    assert read_settings(environ={})[0].protocol_v2 is None
    for variable in ("TURNWIRE_PROTOCOL_V2", "CHAT_PROTOCOL_V2_ENABLED"):
        assert read_settings(environ={variable: "true"})[0].protocol_v2 is True
        assert read_settings(environ={variable: "false"})[0].protocol_v2 is False


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("prot = 1", "Did you mean port?"),
        ("zzz = 1", "there is no setting 'zzz'"),
        ('port = "x"', "port is 'x'"),
        ("port = -1", "cannot be less than 0"),
        ("port = 65536", "cannot be more than 65535"),
        ("heartbeat_seconds = 0", "cannot be less than 1"),
        ("ping_seconds = nan", "has to be a finite number"),
        ("pong_seconds = 0.0", "cannot be less than 0.1"),
        ("disconnect_grace = inf", "has to be a finite number"),
        ("port = ", "cannot be read"),
        ('on_disconnect = "stop"', "on_disconnect is 'stop'"),
    ],
)
def test_an_invalid_setting_is_named(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "turnwire.toml"
    file.write_text(text)
    with pytest.raises(BadSetting, match=said.replace("?", r"\?")):
        read_settings(environ={"TURNWIRE_CONFIG": str(file)})


def test_a_settings_file_given_by_name_must_exist(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="there is no file"):
        read_settings(environ={"TURNWIRE_CONFIG": str(tmp_path / "none")})
    with pytest.raises(BadSetting, match="TURNWIRE_PORT"):
        read_settings(environ={"TURNWIRE_PORT": "many"})


def test_agents_may_be_tables_with_their_options(tmp_path: Path) -> None:
    file = tmp_path / "turnwire.toml"
    file.write_text('[agents.demo]\n[agents.mine]\ncommand = ["mine", "--acp"]\n')
    settings, _ = read_settings(environ={}, file=file)
    assert settings.agents == ["demo", "mine"]
    assert settings.agent_options == {"mine": {"command": ["mine", "--acp"]}}
    file.write_text("[agents]\ndemo = 1\n")
    with pytest.raises(BadSetting, match=r"as a table, \[agents\.demo\], or the names"):
        read_settings(environ={}, file=file)
    file.write_text("[agents.demo]\ndelay = 1\n[agent_options.demo]\ndelay = 2\n")
    with pytest.raises(BadSetting, match="Keep one of them"):
        read_settings(environ={}, file=file)


def test_agent_options_are_a_table_or_json(tmp_path: Path) -> None:
    file = tmp_path / "turnwire.toml"
    file.write_text(
        '[agent_options.claude]\nhooks = ["app.hooks:no_rm"]\n'
        '[agent_options.claude.mcp_servers.docs]\ncommand = "docs"\n'
    )
    settings, _ = read_settings(environ={}, file=file)
    written = {"hooks": ["app.hooks:no_rm"], "mcp_servers": {"docs": {"command": "docs"}}}
    assert settings.agent_options == {"claude": written}
    environ = {"TURNWIRE_AGENT_OPTIONS": '{"demo": {"delay": 0}}'}
    assert read_settings(environ=environ)[0].agent_options == {"demo": {"delay": 0}}
    for wrong in ("{", "[1]", '{"demo": 1}'):
        with pytest.raises(BadSetting, match="agent_options is"):
            read_settings(environ={"TURNWIRE_AGENT_OPTIONS": wrong})


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("host", "", "not an address to listen on"),
        ("host", "http://127.0.0.1", "not an address to listen on"),
        ("host", "127.0.0.1:80", "the port is a setting of its own"),
        ("hosts", ["*"], "'*' is not the name of a server"),
        ("hosts", ["https://chat.example"], "is not the name of a server"),
        ("hosts", ["chat.example:443"], "Write it bare, without a port"),
        ("hosts", ["chat.example/a"], "is not the name of a server"),
        ("hosts", ["a b"], "is not the name of a server"),
        ("hosts", "chat.example", "Expected `array`"),
        ("origins", ["*"], "a wildcard is not allowed"),
        ("origins", ["app.example"], "with its scheme and without a path: https://app.example"),
        ("origins", ["https://app.example/page"], "without a path"),
        ("origins", ["https://*.example"], "is not the origin of a page"),
        ("origins", ["https://ann@app.example"], "is not the origin of a page"),
        ("origins", ["null"], "is not the origin of a page"),
        ("public_url", "chat.example", "not a valid URL"),
        ("public_url", "https://chat.example/?a", "a name, a port and a path, and nothing else"),
        ("public_url", "https://chat.example/a b", "not a valid URL"),
        ("public_url", "https://chat.example/a//b", "its path may have"),
        ("public_url", "https://chat.example/..", "its path may have"),
        ("public_url", "https://chat.example/api/x", "addresses of its own below /api"),
        ("login_url", "login", "neither a URL nor a path"),
        ("login_url", "javascript:alert(1)", "neither a URL nor a path"),
        ("logout_url", "logout", "neither a URL nor a path"),
        ("login_url", "//other.example", "neither a URL nor a path"),
        ("login_url", "/\\other.example", "neither a URL nor a path"),
        ("roots", ["/nonexist"], "there is no directory '/nonexist'"),
        ("roots", ["~no-user-of-this-name"], "cannot be read"),
        ("max_frame_bytes", 0, "cannot be less than 1024"),
        ("max_connections", 0, "cannot be less than 1"),
        ("max_items", 255, "cannot be less than 256"),
        ("slow_loop_seconds", -0.1, "cannot be less than 0"),
        ("slow_loop_seconds", 0.001, "Choose 0.005 or more, or 0 for none"),
        ("port", "80", "Expected `int`"),
        ("on_disconnect", "stop", "Invalid enum value"),
    ],
)
def test_contradictory_settings_are_refused_at_the_start(name: str, value: Any, said: str) -> None:
    with pytest.raises(BadSetting) as refused:
        create_app(Settings(**{name: value}))
    assert refused.value.message.startswith(f"{name} is {value!r} (Settings): ")
    assert said in refused.value.message


def test_the_source_of_a_contradictory_setting_is_named() -> None:
    settings, told = read_settings(environ={"TURNWIRE_ORIGINS": "app.example"})
    with pytest.raises(BadSetting, match="TURNWIRE_ORIGINS"):
        check_settings(settings, told)


def test_valid_settings_are_not_refused(tmp_path: Path) -> None:
    check_settings(
        Settings(
            data_dir=tmp_path,  # type: ignore[arg-type]  # a path is as good as its name
            host="[::1]",
            hosts=["chat.example", "localhost", "::1", "[fe80::1]", "10.0.0.1"],
            origins=["https://app.example", "http://localhost:3000/", "tauri://localhost"],
            login_url="/login?next=chat",
            public_url="https://chat.example:8443/a/turn-wire/",
            roots=[str(tmp_path)],
            agent_options={"claude": {"hooks": [print]}},
        )
    )


def test_no_address_of_ours_can_be_hidden_by_the_path_of_a_proxy() -> None:
    ours = [path for path, *_ in API] + [path for path, *_ in OPEN] + ["/ws/rpc"]
    for first in {path.split("/")[1] for path in ours} - {""}:
        with pytest.raises(BadSetting, match="addresses of its own"):
            check_settings(Settings(public_url=f"https://chat.example/{first}"))


def test_both_names_of_protocol_v2_may_be_set_if_they_agree() -> None:
    both = {"TURNWIRE_PROTOCOL_V2": "true", "CHAT_PROTOCOL_V2_ENABLED": "1"}
    settings, told = read_settings(environ=both)
    assert settings.protocol_v2 is True
    assert [each.source for each in told if each.name == "protocol_v2"] == ["TURNWIRE_PROTOCOL_V2"]


def test_names_of_protocol_v2_that_contradict_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    both = {"TURNWIRE_PROTOCOL_V2": "true", "CHAT_PROTOCOL_V2_ENABLED": "false"}
    with pytest.raises(BadSetting, match="Remove CHAT_PROTOCOL_V2_ENABLED"):
        read_settings(environ=both)
    for name, value in both.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(BadSetting, match="Remove CHAT_PROTOCOL_V2_ENABLED"):
        flag_of_v2()


@pytest.mark.parametrize("name", ["TURNWIRE_PROTOCOL_V2", "CHAT_PROTOCOL_V2_ENABLED"])
def test_an_application_reads_either_name(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    assert not flag_of_v2()
    monkeypatch.setenv(name, "on")
    assert flag_of_v2()


@pytest.mark.parametrize(
    ("word", "meant"), [("on", True), ("Yes", True), ("1", True), ("off", False), ("", False)]
)
def test_booleans_have_several_spellings(
    word: str, meant: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TURNWIRE_PROTOCOL_V2", word)
    settings, _ = read_settings(None)
    assert settings.protocol_v2 is meant


def test_an_invalid_boolean_is_refused_with_the_valid_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TURNWIRE_PROTOCOL_V2", "maybe")
    with pytest.raises(BadSetting, match="it has to be true or false"):
        read_settings(None)


def test_a_password_of_the_bus_is_refused_on_the_command_line() -> None:
    for secret in ("nats://me:secret@bus:4222", "nats://token@bus", "redis://bus?password=x"):
        with pytest.raises(BadSetting, match="TURNWIRE_BUS") as refused:
            read_settings({"bus": secret}, environ={})
        assert "secret" not in str(refused.value)
    for other in ("off", "nats://bus:4222", "postgresql://me@db/turnwire"):
        assert read_settings({"bus": other}, environ={})[0].bus == other
