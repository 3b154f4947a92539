"""The log has the store's data about a blob, not the client's."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from tests.server.helpers.frame_checks import play
from tests.server.helpers.servers import Serving
from turnwire.agents.demo import DemoAgent
from turnwire.core.content import Blob, Content, FileContent, ImageContent, TextContent
from turnwire.core.error_codes import Refused
from turnwire.core.message import FileRefPart, ImagePart, TextPart
from turnwire.stores.blob_refs import refs_of
from turnwire.stores.sqlite.fsck import check

PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)
LIES: dict[str, dict[str, Any]] = {
    "nothing": {},
    "any picture": {"mime_type": "image/*", "size": 0},
    "another type": {"mime_type": "text/html", "size": 5},
    "far too large": {"mime_type": "image/png", "size": 1 << 50},
}


class Seeing(DemoAgent):
    capabilities = structs.replace(DemoAgent.capabilities, images=True)


def _checked(copy: Path) -> list[Any]:
    now = time.time_ns() // 1_000_000
    return check(copy, now=now, repair=True, has_died=lambda owner: True).findings


async def _upload(server: Serving, mime_type: str = "image/png", data: bytes = PNG) -> Any:
    async with server.http() as http:
        said = {"Content-Type": mime_type}
        return (await http.post("/api/blobs", content=data, headers=said)).json()


async def _said(server: Serving, name: str) -> list[Any]:
    """The parts of what the person said."""
    entries = await server.service.store.entries(name)
    return [part for each in entries if each.entry.role == "user" for part in each.entry.parts]


def _check_picture(part: Any, blob_id: str) -> None:
    assert isinstance(part, ImagePart)
    assert part.payload.mime_type == "image/png"
    ref = part.payload.blob
    assert ref is not None
    assert (ref.blob_id, ref.mime_type, ref.size) == (blob_id, "image/png", len(PNG))


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("door", ["v2", "queue", "rpc", "library"])
def test_no_protocol_trusts_the_client_about_a_blob(tmp_path: Path, door: str, lie: str) -> None:
    async def scene(server: Serving) -> None:
        blob_id = (await _upload(server))["blob_id"]
        name = await server.begin(delay=0)
        claimed = LIES[lie]
        picture = {"type": "image", "blob": {"blob_id": blob_id, **claimed}}
        if "mime_type" in claimed:
            picture["mime_type"] = claimed["mime_type"]
        content = [{"type": "text", "text": "hi"}, picture]
        match door:
            case "v2":
                async with server.client(name) as client:
                    await client.send("user.message", "m-1", content=content)
                    shown = await client.until("user.message")
                    sent = shown["payload"]["content"][1]
                    assert sent["blob"]["mime_type"] == sent["mime_type"] == "image/png"
                    assert sent["blob"]["size"] == len(PNG)
                    await client.end_of(1)
            case "queue":
                async with server.client(name) as client:
                    await client.say("question", "m-1")
                    await client.state("waiting_input")
                    await client.say("later", "m-2")
                    queued = (await client.answer("m-2"))["payload"]["queue_id"]
                    change = {"action": "replace", "queue_id": queued, "content": content}
                    await client.send("user.queue", "m-3", **change)
                    assert (await client.answer("m-3"))["type"] == "user.queue.ack"
                row = await server.service.store.conversation(name)
                assert row is not None
                [waiting] = row.state.queue
                kept = waiting.item.content[1]
                assert kept == ImageContent("image/png", blob=Blob(blob_id, "image/png", len(PNG)))
                return
            case "rpc":
                async with server.rpc() as rpc:
                    await rpc.join(name)
                    source = {"type": "blob", "blob_id": blob_id}
                    sent = [content[0], {"type": "image", "source": source}]
                    await rpc.stream(await rpc.call("queryWithContent", content=sent))
            case _:
                talk = await server.service.engine.open(name)
                own: list[Content] = [
                    TextContent("hi"),
                    ImageContent(claimed.get("mime_type"), blob=Blob(blob_id, **claimed)),
                ]
                await talk.send(own)
        [_, part] = await _said(server, name)
        _check_picture(part, blob_id)
        async with server.http() as http:
            assert (await http.get(f"/api/blobs/{blob_id}")).content == PNG

    async def scene_and_copy(server: Serving) -> None:
        await scene(server)
        await server.service.store.backup(str(tmp_path / "copy.db"))

    play(tmp_path, scene_and_copy, agents={"demo": Seeing()})
    found = {finding.kind for finding in _checked(tmp_path / "copy.db")}
    assert not {kind for kind in found if kind.startswith("blob")}


def test_files_and_long_texts_are_completed_as_well(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        blob_id = (await _upload(server, "text/markdown", b"# whole"))["blob_id"]
        talk = await server.service.engine.open(await server.begin(delay=0))
        lie = Blob(blob_id, "image/gif", 99)
        await talk.send([TextContent("#", blob=lie), FileContent("a.md", "image/gif", 99, lie)])
        text, file = await _said(server, talk.id)
        assert isinstance(text, TextPart)
        assert isinstance(file, FileRefPart)
        for ref in (text.payload.blob, file.payload.blob):
            assert ref is not None
            assert (ref.mime_type, ref.size) == ("text/markdown", 7)
        assert (file.payload.mime_type, file.payload.size) == ("text/markdown", 7)

    play(tmp_path, scene, agents={"demo": Seeing()})


def test_a_fork_has_the_reference_that_was_completed(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        blob_id = (await _upload(server))["blob_id"]
        name = await server.begin(delay=0)
        lie = {"type": "image", "blob": {"blob_id": blob_id, "mime_type": "image/*", "size": 1}}
        async with server.client(name) as client, server.http() as http:
            await client.send("user.message", "m-1", content=[lie])
            await client.end_of(1)
            await client.state("active")
            forked = (await http.post(f"/api/conversations/{name}/fork", json={})).json()
        [part] = await _said(server, forked["id"])
        _check_picture(part, blob_id)

    play(tmp_path, scene, agents={"demo": Seeing()})


@pytest.mark.parametrize("door", ["v2", "rpc", "library"])
def test_a_message_with_an_unknown_blob_is_refused(tmp_path: Path, door: str) -> None:
    async def scene(server: Serving) -> None:
        name = await server.begin(delay=0)
        missing: list[Content] = [ImageContent(blob=Blob("nowhere", "image/png", 3))]
        if door == "library":
            talk = await server.service.engine.open(name)
            with pytest.raises(Refused, match="Upload it first"):
                await talk.send(missing)
        elif door == "rpc":
            async with server.rpc() as rpc:
                await rpc.join(name)
                source = {"type": "blob", "blob_id": "nowhere"}
                asked = [{"type": "image", "source": source}]
                error = await rpc.refused("queryWithContent", content=asked)
                assert error["code"] == "INVALID_PAYLOAD"
        else:
            async with server.client(name) as client:
                picture = {"type": "image", "blob": {"blob_id": "nowhere"}}
                await client.send("user.message", "m-1", content=[picture])
                assert (await client.answer("m-1"))["payload"]["code"] == "INVALID_PAYLOAD"
        assert await _said(server, name) == []

    play(tmp_path, scene, agents={"demo": Seeing()})


def test_another_users_blob_cannot_be_referred_to(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.http(await server.token_of("bob")) as his:
            png = {"Content-Type": "image/png"}
            theirs = (await his.post("/api/blobs", content=PNG, headers=png)).json()["blob_id"]
        name = await server.begin("ann", delay=0)
        async with server.client(name, await server.token_of("ann")) as client:
            for own_id, size in (("m-1", len(PNG)), ("m-2", 0)):
                picture = {"type": "image", "blob": {"blob_id": theirs, "size": size}}
                await client.send("user.message", own_id, content=[picture])
                assert (await client.answer(own_id))["payload"]["code"] == "INVALID_PAYLOAD"

    play(tmp_path, scene, agents={"demo": Seeing()})


def test_a_text_is_no_picture(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        blob_id = (await _upload(server, "text/html", b"<b>"))["blob_id"]
        talk = await server.service.engine.open(await server.begin(delay=0))
        with pytest.raises(Refused, match="is not a picture"):
            await talk.send([ImageContent("image/png", blob=Blob(blob_id, "image/png", 3))])

    play(tmp_path, scene, agents={"demo": Seeing()})


@pytest.mark.parametrize("told", [None, "image/*", "image/gif"])
def test_an_inline_picture_has_the_type_that_its_bytes_show(
    tmp_path: Path, told: str | None
) -> None:
    async def scene(server: Serving) -> None:
        talk = await server.service.engine.open(await server.begin(delay=0))
        await talk.send([ImageContent(told, "iVBORw0KGgoAAAAN")])
        [part] = await _said(server, talk.id)
        assert part.payload.mime_type == "image/png"
        unknown: list[Content] = [ImageContent(told, "AAAA")]
        if told == "image/gif":
            await talk.send(unknown)  # concrete, and nothing contradicts it
        else:
            with pytest.raises(Refused, match="mime_type"):
                await talk.send(unknown)

    play(tmp_path, scene, agents={"demo": Seeing()})


def test_an_upload_has_the_type_that_its_bytes_show(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        assert (await _upload(server, "image/gif"))["mime_type"] == "image/png"
        assert (await _upload(server, "text/plain"))["mime_type"] == "text/plain"
        assert (await _upload(server, "image/x-own", b"own"))["mime_type"] == "image/x-own"
        assert (await _upload(server, "image/*"))["error"]["code"] == "INVALID_FORMAT"

    play(tmp_path, scene, agents={"demo": Seeing()})


def test_every_reference_of_an_entry_is_found() -> None:
    """The functions that complete references and that find them know the same fields."""
    from turnwire.core.message import (
        BlobRef,
        ImagePayload,
        Message,
        ToolResultPart,
        ToolResultPayload,
    )
    from turnwire.stores.blob_refs import with_true_refs

    ref = BlobRef("b", "image/*", 0)
    inner = ImagePart(ImagePayload("image/*", None, None, ref))
    result = ToolResultPayload("t", False, [inner], details_blob=ref)
    kept = [{"position": 0, "block": {}, "blob": {"blobId": "b", "mimeType": "x/y", "size": 1}}]
    entry = Message("c:1", "tool", [ToolResultPart(result)], "", {"blocks": kept})
    true = BlobRef("b", "image/png", 7)
    mended = with_true_refs(entry, lambda blob_id: true)
    assert [*refs_of(mended)] == [true] * len([*refs_of(entry)]) == [true] * 3
    lost = with_true_refs(entry, lambda blob_id: None)
    assert [*refs_of(lost)] == []
