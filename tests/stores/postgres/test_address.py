"""An address is read once, and its password is shown to no one."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from turnwire import Settings, open_store
from turnwire.ports import StorageUnavailable
from turnwire.settings import BadSetting, read_settings
from turnwire.settings_check import check_settings
from turnwire.stores.address import Address, BadAddress, is_database, shown

SECRET = "s3cr%40t"
URL = f"postgresql://ann:{SECRET}@db.example:5433/chat?sslmode=require"


def test_a_password_is_not_shown() -> None:
    for said in (str(Address(URL)), repr(Address(URL)), shown(URL)):
        assert "s3cr" not in said
        assert "ann:***@db.example:5433/chat" in said
    assert Address(URL).url == URL
    assert shown(f"postgresql://h/x?password={SECRET}&user=ann") == (
        "postgresql://h/x?password=***&user=ann"
    )
    assert shown(f"ann:{SECRET}@db.example/chat") == "***", "half an address"


def test_a_password_is_taken_out_of_any_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", "from the environment")
    told = "failed for ann: s3cr@t, s3cr%40t, from the environment"
    assert Address(URL).without_secrets(told) == "failed for ann: ***, ***, ***"


def test_a_password_that_is_also_the_name_of_the_role_garbles_no_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PGPASSWORD", raising=False)
    same = Address("postgresql://ann:ann@db.example/ann")
    told = 'password authentication failed for user "ann", database "ann" does not exist'
    assert same.without_secrets(told) == told
    told = "cannot use postgresql://ann:ann@db.example, user=ann password=ann"
    assert same.without_secrets(told) == (
        "cannot use postgresql://ann:***@db.example, user=ann password=***"
    )


@pytest.mark.parametrize(
    "wrong",
    [
        "mysql://h/x",
        f"postgresql://ann:{SECRET}@h:port/x",
        "postgresql://[h/x",
        f"postgresql://a:{SECRET}@h/x#y",
        "postgresql://ann:s3cr@t@db.example/chat",
    ],
)
def test_an_address_that_cannot_be_read_is_not_repeated(wrong: str) -> None:
    with pytest.raises(BadAddress) as refused:
        Address(wrong)
    assert "s3cr" not in str(refused.value)
    assert "postgresql://user@host:5432/database" in str(refused.value)
    assert "a password such as @ / : are written as %40" in str(refused.value)


@pytest.mark.parametrize(
    ("address", "what"),
    [(URL, True), ("postgres://h/x", True), ("data.db", False), ("postgres", False)],
)
def test_a_database_is_known_by_its_scheme(address: str, what: bool) -> None:
    assert is_database(address) is what


def test_settings_do_not_show_the_password() -> None:
    settings, told = read_settings(environ={"TURNWIRE_STORE": URL})
    assert settings.store == URL
    assert "s3cr" not in f"{settings!r} {settings.kept_in} {told}"
    with pytest.raises(BadSetting) as refused:
        check_settings(Settings(store=f"mysql://ann:{SECRET}@h/x"))
    assert "s3cr" not in str(refused.value)


def test_a_password_on_the_command_line_is_refused() -> None:
    with pytest.raises(BadSetting, match="PGPASSWORD") as refused:
        read_settings({"store": URL}, environ={})
    assert "s3cr" not in str(refused.value)
    settings, _ = read_settings({"store": "postgresql://ann@h/x"}, environ={})
    assert settings.store == "postgresql://ann@h/x"


def test_the_file_may_have_the_whole_address(tmp_path: Path) -> None:
    file = tmp_path / "turnwire.toml"
    file.write_text(f'store = "{URL}"\n')
    assert read_settings(environ={}, file=file)[0].store == URL


async def test_a_failure_to_connect_has_no_password(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(StorageUnavailable) as refused:
        await open_store(f"postgresql://ann:{SECRET}@127.0.0.1:1/chat", patience=0)
    seen = f"{refused.value} {refused.value.data} {caplog.text}"
    assert "s3cr" not in seen
    assert "ann:***@127.0.0.1:1/chat" in seen


async def test_a_path_is_a_file(tmp_path: Path) -> None:
    async with open_store(tmp_path / "log.db") as store:
        assert store.epoch
    assert os.listdir(tmp_path) == ["log.db"]  # noqa: PTH208


@pytest.mark.parametrize(
    "address",
    ["mysql://host/name", "postgres:/host", "POSTGRESQL://host/name", "host=db dbname=talks"],
)
def test_an_address_of_another_kind_is_no_path(address: str) -> None:
    with pytest.raises(BadAddress, match="postgresql://user@host"):
        is_database(address)
