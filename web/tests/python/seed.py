"""Writes a long or a hostile conversation into a data directory: seed.py DIR long 10000 | many 600 | hostile | classes | tasks | content | diagrams."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from msgspec import structs

from turnwire.core.conversation.effects import AddEntry, EndTurn, Write
from turnwire.core.message import (
    ImagePart,
    ImagePayload,
    Message,
    MessagePart,
    Role,
    TextPart,
    TextPayload,
    ThinkingPart,
    ThinkingPayload,
    ToolCallPart,
    ToolCallPayload,
    ToolResultPart,
    ToolResultPayload,
    meta_of,
    run_id,
)
from turnwire.core.status import TurnEnd
from turnwire.core.usage import Usage
from turnwire.ports import NewConversation
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.store_samples import TRACE, Writing, at

BIDI = "\u202etxt.exe\u202c \u2066hidden\u2069 \u200bzero"
HOSTILE = [
    "<script>window.broken = 1</script>",
    "<img src=x onerror='window.broken = 1'> <svg onload='window.broken = 1'>",
    "[click](javascript:window.broken=1) [data](data:text/html,<script>window.broken=1</script>)",
    "![picture](https://elsewhere.example/pixel.png)\n\n![other](//elsewhere.example/pixel.png)",
    "<iframe src='https://elsewhere.example'></iframe><style>body{display:none}</style>",
    "[a]: javascript:window.broken=1\n\n[a] and [this][a]",
    f"Bidi: {BIDI}",
    f"```html\n<script>window.broken = 1</script>\n{BIDI}\n```",
    "| a | <b onmouseover='window.broken=1'>b</b> |\n|---|---|\n| [x](vbscript:y) | `</script>` |",
    "x" * 1_000_000,
    "> " * 400 + "deep",
    ">" * 4000 + " deeper",
    "- " * 2500 + "deepest",
    "1. > " * 1000 + "and so on",
    "*_" * 1000 + "stress" + "_*" * 1000,
    "[" * 3000 + "](" * 3000,
    "*" * 5000 + "a" + "_" * 5000,
]


class Log:
    """Writes one conversation."""

    def __init__(self, talk: Writing) -> None:
        self.talk = talk
        self.turn = 0
        self.count = 0
        self.last: TurnEnd | None = None
        self.writes: list[Write] = []

    def add(
        self, role: Role, part: MessagePart, *, message: str | None = None, index: int = 0
    ) -> None:
        self.count += 1
        run = run_id(self.talk.id, self.turn)
        own = {"message_id": message, "index": index} if message else {}
        meta = meta_of(run, **own)
        entry = Message(run, role, [part], at(self.count), meta)
        self.writes.append(AddEntry(self.count, entry, self.turn, TRACE))

    def end(self, structured: object = None) -> None:
        end = TurnEnd(
            False,
            False,
            "end_turn",
            usage=Usage(30, 40),
            after_sequence=self.count,
            structured_output=structured,
        )
        self.last = end
        self.writes.append(EndTurn(self.turn, TRACE, end))

    async def write(self) -> None:
        now = structs.replace(
            self.talk.state, turns=self.turn, last_turn=self.last, last_turn_id=self.turn
        )
        await self.talk.commit(self.talk.prepare(*self.writes, state=now))
        self.writes = []


async def main() -> None:
    data_dir, kind, *rest = sys.argv[1:]
    store = await SqliteStore.open(Path(data_dir) / "turnwire.db")
    try:
        if kind == "many":
            await seed_many(store, int(rest[0]))
        elif kind == "classes":
            await seed_classes(store)
        elif kind == "tasks":
            await seed_tasks(store)
        elif kind == "diagrams":
            await seed_diagrams(store)
        elif kind == "content":
            await seed_content(store)
        else:
            await (seed_long(store, int(rest[0])) if kind == "long" else seed_hostile(store))
    finally:
        await store.close()


async def begin(store: SqliteStore, name: str, title: str) -> Writing:
    row = await store.create(NewConversation(name, "demo", at(), None, title))
    claim = await store.claim(name, "seed", now=round(time.time() * 1000), lease=60_000)
    return Writing(store, claim, row.state)


async def seed_many(store: SqliteStore, count: int) -> None:
    """Writes empty conversations, the oldest first."""
    for number in range(count):
        name = f"many-{number}"
        # The page shows only the directories that are not the usual one.
        cwd = "/home/ann/birds/wings" if number < 2 else "/home/ann/birds/nests"
        await store.create(NewConversation(name, "demo", at(number), None, f"Talk {number}", cwd))


async def seed_long(store: SqliteStore, messages: int) -> None:
    """Writes entries: each turn has a message, an answer, a tool call and its result."""
    log = Log(await begin(store, "long", "A long one"))
    while log.count < messages:
        log.turn += 1
        answer = f"Answer **{log.turn}**.\n\n" + "Some words in a line. " * (log.turn % 7 + 1)
        log.add("user", TextPart(TextPayload(f"Question {log.turn}")))
        log.add("assistant", TextPart(TextPayload(answer)), message=f"m{log.turn}")
        call = ToolCallPayload(f"t{log.turn}", "Bash", {"command": f"echo {log.turn}"})
        log.add("assistant", ToolCallPart(call), message=f"m{log.turn}", index=1)
        result = ToolResultPayload(f"t{log.turn}", False, f"{log.turn}\n" * (log.turn % 5 + 1))
        log.add("tool", ToolResultPart(result))
        log.end()
        if len(log.writes) > 400:
            await log.write()
    await log.write()
    await store.release(log.talk.claim)


async def seed_hostile(store: SqliteStore) -> None:
    log = Log(await begin(store, "hostile", f"{HOSTILE[0]} {BIDI}"))
    log.turn = 1
    for number, text in enumerate(HOSTILE):
        log.add("user", TextPart(TextPayload(text)))
        log.add("assistant", TextPart(TextPayload(text)), message=f"a{number}")
        log.add("assistant", ThinkingPart(ThinkingPayload(text)), message=f"a{number}", index=1)
        call = ToolCallPayload(f"t{number}", "Bash", {"command": text, "description": text})
        log.add("assistant", ToolCallPart(call), message=f"a{number}", index=2)
        log.add("tool", ToolResultPart(ToolResultPayload(f"t{number}", False, text)))
    log.end({"colour": "red", "said": HOSTILE[0]})
    await log.write()
    await store.release(log.talk.claim)


# Words with a meaning as a CSS class or as an inherited key of an object.
CLASSES = ["veil broken", "completed broken", "constructor", "__proto__", "toString"]


async def seed_classes(store: SqliteStore) -> None:
    log = Log(await begin(store, "classes", "Words as classes"))
    log.turn = 1
    log.add("user", TextPart(TextPayload("&constructor; &valueOf;")))
    log.add("assistant", TextPart(TextPayload("&constructor; &valueOf;")), message="a")
    todos = [{"content": f"To do: {word}", "status": word} for word in CLASSES]
    plan = ToolCallPayload("plan", "TodoWrite", {"todos": todos})
    log.add("assistant", ToolCallPart(plan), message="a", index=1)
    for number, word in enumerate(CLASSES):
        call = ToolCallPayload(f"t{number}", word, {"said": word})
        log.add("assistant", ToolCallPart(call), message="a", index=2 + number)
    for name in ["plan", *(f"t{number}" for number, _ in enumerate(CLASSES))]:
        log.add("tool", ToolResultPart(ToolResultPayload(name, False, "done")))
    log.end()
    await log.write()
    await store.release(log.talk.claim)


TASKS = """What is left to do:

- [x] Read the **notes**
- [ ] Write the answer, which is long enough to need more than one line where a page is narrow
  - [ ] Ask for `help`
- a plain item

1. [x] First

   With a paragraph of its own.

2. [ ] Second
"""


async def seed_tasks(store: SqliteStore) -> None:
    """Writes a message with task lists: tight, nested, and with paragraphs."""
    log = Log(await begin(store, "tasks", "Lists of tasks"))
    log.turn = 1
    log.add("user", TextPart(TextPayload("What is left?")))
    log.add("assistant", TextPart(TextPayload(TASKS)), message="a")
    log.end()
    await log.write()
    await store.release(log.talk.claim)


CONTENT = r"""The roots are $x_{1,2} = \frac{-b \pm \sqrt{b^2-4ac}}{2a}$. It costs $5 and not $10.[^price]

$$
\sum_{k=1}^{n} k
=
\frac{n(n+1)}{2}
$$

Not TeX: $\unknown{x}$, a link: $\href{javascript:window.broken=1}{x}$. No note: [^none].

```mermaid
graph TD; A-->B
```

[^price]: Without **tax**.
"""
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


async def seed_content(store: SqliteStore) -> None:
    """Writes formulas, a footnote, colours, pictures, and markup of an agent."""
    log = Log(await begin(store, "content", "Content"))
    log.turn = 1
    log.add(
        "user",
        TextPart(
            TextPayload("<command-name>/review</command-name>\n<command-args>main</command-args>")
        ),
    )
    log.add("assistant", TextPart(TextPayload(CONTENT)), message="a")
    lines = "\n".join(f"line {number}" for number in range(1, 1001))
    reminder = "<system-reminder>Be careful.</system-reminder>"
    results: list[tuple[str, bool, list[MessagePart] | str]] = [
        ("colours", False, "\x1b[1;31mred\x1b[0m and \x1b[38;5;34mgreen\x1b[0m\n10%\r100%\n"),
        ("long", False, lines),
        ("error", True, "<tool_use_error>File has not been read yet.</tool_use_error>"),
        ("reminder", False, f"1 file\n{reminder}"),
        ("picture", False, [ImagePart(ImagePayload("image/png", PIXEL))]),
    ]
    for number, (name, is_error, content) in enumerate(results, 1):
        call = ToolCallPayload(name, "Bash", {"command": f"run {name}"})
        log.add("assistant", ToolCallPart(call), message="a", index=number)
        log.add("tool", ToolResultPart(ToolResultPayload(name, is_error, content)))
    log.end()
    await log.write()
    await store.release(log.talk.claim)


ELSEWHERE = "https://elsewhere.example"
BREAK = "window.broken=1"
# Each is the only message of the conversation `diagram-NAME`.
DIAGRAMS = {
    "flow": "graph TD; A[Start]-->B{Is it so?}; B-->|yes|C[Go on]; B-->|no|D[Stop]",
    "sequence": "sequenceDiagram\n  accTitle: Greeting\n  Ann->>Bob: Hello\n  Bob-->>Ann: Hi",
    "wide": "graph LR; " + "; ".join(f"N{n}[Number {n}]-->N{n + 1}" for n in range(30)),
    "below": "graph TD; A-->B",
    "unreadable": "graph TD; A[[[-->",
    "long": "graph TD\n" + "\n".join(f"  A{n}[some words]-->B{n}" for n in range(3_400)),
    "edges": "graph TD\n" + "\n".join(f"A-->B{n}" for n in range(900)),
    "script": f"graph TD; A[\"<script>{BREAK}</script><img src=x onerror='{BREAK}'>\"]-->B",
    "link": f'graph TD; A-->B; click A "javascript:{BREAK}"; click B href "{ELSEWHERE}/click"',
    "call": "graph TD; A-->B; click A call alert(1); click B alert",
    "loose": '%%{init: {"securityLevel":"loose","htmlLabels":true,"maxTextSize":9}}%%\n'
    f"graph TD; A[\"<img src='{ELSEWHERE}/a.png' onerror='{BREAK}'>\"]-->B; "
    f'click B href "javascript:{BREAK}"',
    "beacon": '%%{init: {"themeCSS":"* { background: url('
    + f"{ELSEWHERE}/css.png); }} @import '{ELSEWHERE}/x.css';\"}}}}%%\n"
    f"graph TD; A-->B; style A fill:url({ELSEWHERE}/fill.svg#a),background:url({ELSEWHERE}/b.png)\n"
    f"classDef c fill:url({ELSEWHERE}/c.svg); class B c",
    "picture": f'graph TD; A@{{ img: "{ELSEWHERE}/shape.png", label: "x" }}-->B',
    "endless": "gantt\n  dateFormat YYYY-MM-DD\n  excludes monday,tuesday,wednesday,thursday,friday,"
    "saturday,sunday\n  section A\n  One :a, 2026-01-01, 30d",
    "slow": "graph TD\n" + "\n".join(f"  N{a}-->N{b}" for a in range(32) for b in range(a + 1, 32)),
}


async def seed_diagrams(store: SqliteStore) -> None:
    for name, source in DIAGRAMS.items():
        log = Log(await begin(store, f"diagram-{name}", f"Diagram: {name}"))
        log.turn = 1
        log.add("user", TextPart(TextPayload("Draw it.")))
        text = f"```mermaid\n{source}\n```\n"
        if name == "below":
            text += "\n\n".join(f"Line {number}." for number in range(200)) + "\n\nThe end."
        log.add("assistant", TextPart(TextPayload(text)), message="a")
        log.end()
        await log.write()
        await store.release(log.talk.claim)


asyncio.run(main())
