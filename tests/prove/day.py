"""A day of conversations in its own process, which may be killed at any moment and started again.

    python -m tests.prove.day FOLDER PART [--node NAME OF N] [count]

Four conversations at once: one with everything that an agent can do, one with a queue and stops, one
with an agent in its own process, one with answers that grow for seconds. The day ends when all of them are done.

Of several nodes each has a part of the people, and the agents of other people: their commands are forwarded.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import threading
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from tests.prove.helpers import broken_parts, users
from tests.prove.helpers.day_store import address_in, open_rows
from tests.prove.helpers.delays import keep_ticking
from tests.prove.helpers.journal import Began, Ended, Journal, Lines, Recovered, read
from tests.prove.helpers.node_place import (
    NodePlace,
    cut_when_signalled,
    hold_signals,
    open_cuttable_bus,
)
from tests.prove.helpers.saving import note_writes
from tests.prove.helpers.users import Person, Screen, is_at_rest, patiently
from tests.prove.helpers.witness_agent import SERVER, WitnessAgent
from tests.stores.postgres.faults import Proxy
from turnwire.agents.child import ChildAgent
from turnwire.agents.process import plain_environment
from turnwire.core.conversation.state import Options
from turnwire.core.error_codes import Refused
from turnwire.crash_points import CrashPoint, on_reach
from turnwire.engine import Engine, EngineSettings, Talk
from turnwire.engine.ownership.owners import has_died
from turnwire.engine.ownership.stored_state import is_held
from turnwire.stores.address import is_database
from turnwire.stores.open_store import open_store

ROOT = Path(__file__).parent.parent.parent
LEASE = 3.0  # seconds; an agent in a process of its own ends before that
SAVE_EVERY = 0.05  # seconds
SETTINGS = EngineSettings(lease=LEASE, recheck=0.1, agent_idle=0.2, save_every=SAVE_EVERY)
RULES = {
    "work": Options(on_disconnect="continue"),
    "queue": Options(max_queue=4, interrupt_grace=0.2, disconnect_grace=0.1),
    "child": Options(on_disconnect="continue", interrupt_grace=0.2),
    "words": Options(on_disconnect="continue"),
}
AGENTS = {"work": "local", "queue": "deaf", "child": "child", "words": "slow"}


class Day:
    """All users of the day, and their actions."""

    def __init__(self, folder: Path, place: NodePlace | None = None) -> None:
        self.folder = folder
        self.place = place
        self.address = address_in(folder)
        self.before: list[Lines] = read(folder / "journal")
        self.journal = Journal(folder / "journal")
        self.screens: list[Screen] = []
        self.has_nodes = place is not None

    def screen(self, name: str, talk: Talk) -> Screen:
        common = (self.rows, self.journal, self.before)
        screen = Screen(name, talk, *common, reconnects=self.has_nodes)
        self.screens.append(screen)
        return screen

    def person(self, talk: Talk, screen: Screen) -> Person:
        return Person(talk, screen, self.journal, repeats=self.has_nodes)

    def agents(self) -> dict[str, Any]:
        journal = str(self.journal.path)
        paths = [os.environ.get("PYTHONPATH"), str(ROOT)]
        env = {**plain_environment(), "PYTHONPATH": os.pathsep.join(p for p in paths if p)}
        env[SERVER] = str(os.getpid())
        witness = "tests.prove.helpers.witness_agent:WitnessAgent"
        return {
            "local": WitnessAgent(journal, delay=0.0),
            "slow": WitnessAgent(journal, delay=0.01),
            "deaf": WitnessAgent(journal, delay=0.001, obey_interrupt=False),
            "child": ChildAgent(witness, env=env, grace=0.2, journal=journal, delay=0.001),
        }

    async def run(self) -> None:
        if not is_database(self.address):
            await self.run_on(self.address, None)
            return
        from tests.prove.helpers.lost_connections import losing_connections

        async with losing_connections(self.address, self.journal) as proxy:
            await self.run_on(proxy.address, proxy)

    async def run_on(self, address: str, proxy: Proxy | None) -> None:
        store = await patiently(partial(open_store, address))
        self.rows = open_rows(self.address)
        node = self.place.name if self.place is not None else ""
        began = Began(
            pid=os.getpid(), epoch=store.epoch, lease=LEASE, save_every=SAVE_EVERY, node=node
        )
        self.journal.write(began)
        note_writes(store, self.journal)
        ticking = asyncio.create_task(keep_ticking(self.journal))
        elsewhere = Engine(store, {}, settings=SETTINGS)
        bus = None
        settings = SETTINGS
        if self.place is not None:
            bus = await open_cuttable_bus(self.place, self.address, store)
            cut_when_signalled(bus, proxy, self.journal)
            settings = structs.replace(settings, node=node, recover_in_background=True)
        async with Engine(store, self.agents(), settings=settings, bus=bus) as engine:
            recovering = asyncio.create_task(self.recover(engine))
            talks = {name: await self.open(engine, agent, name) for name, agent in AGENTS.items()}
            if self.place is None:
                eves = {name: await elsewhere.open(name) for name in talks}
                await self.live(talks, eves)
            else:
                # The agent of the queue stops without followers, so here they are not counted.
                eves = {**talks, "queue": await patiently(partial(elsewhere.open, "queue"))}
                await self.place.take_its_own(engine, [*AGENTS])
                await self.live(talks, eves)
                await self.place.others_are_done()
            await recovering
            for screen in self.screens:
                if screen.name.startswith("eve"):
                    await screen.has_everything()
            for name in self.own_people():
                await self.newcomers(talks[name])
            for screen in self.screens:
                await screen.leave()
        await elsewhere.stop()
        ticking.cancel()
        await store.close()
        self.rows.close()
        self.journal.write(Ended(pid=os.getpid()))

    def own_people(self) -> list[str]:
        """Returns the conversations whose people are here."""
        return [*AGENTS] if self.place is None else self.place.people_of([*AGENTS])

    async def live(self, talks: dict[str, Talk], eves: dict[str, Talk]) -> None:
        """Everything that the people here do, and a follower of each conversation."""
        node = f"{self.place.name} " if self.place is not None else ""
        watching = {name: self.screen(f"eve {node}{name}", talk) for name, talk in eves.items()}
        for eve in watching.values():
            await eve.come()
        people = self.own_people()
        async with asyncio.TaskGroup() as group:
            if "work" in people:
                group.create_task(self.work(talks["work"]))
            if "queue" in people:
                group.create_task(self.queue(talks["queue"], watching["queue"]))
            if "child" in people:
                group.create_task(self.child(talks["child"]))
            if "words" in people:
                group.create_task(self.words(talks["words"]))

    async def recover(self, engine: Engine) -> None:
        """Until every conversation that a crash left is in the hands of this server."""
        async with asyncio.timeout(users.PATIENCE):
            while left := await patiently(engine.store.unsettled):
                if all([await self.is_held(engine, name) for name in left]):
                    break
                free = asyncio.Event()
                engine.clock.call_after(20, free.set)
                await free.wait()
        self.journal.write(Recovered(pid=os.getpid()))

    async def is_held(self, engine: Engine, name: str) -> bool:
        """Returns whether this server runs a conversation, or another node that lives."""
        if name in engine.alive or self.place is None:
            return name in engine.alive
        row = await patiently(partial(engine.store.conversation, name))
        return row is not None and is_held(row, engine.clock.now(), has_died)

    async def open(self, engine: Engine, agent: str, name: str) -> Talk:
        create = partial(engine.create, agent, conversation_id=name, rules=RULES[name])
        try:
            return await patiently(create)
        except Refused:  # it is there already
            return await patiently(partial(engine.open, name))

    # --- the conversations ----------------------------------------------------------------------

    async def work(self, talk: Talk) -> None:
        """Everything that an agent can do, with a second screen that comes and goes."""
        ann = self.screen("ann", talk)
        ben = self.screen("ben", talk)
        await ann.come()
        person = self.person(talk, ann)
        for number, words in enumerate(["think plan", "question", "tool permission"], 1):
            await person.say(f"w-{number}", words)
            if number != 2:
                await ben.come()
            await person.rest()
            await ben.leave()
        await ben.come()
        await person.say("w-4", "background")
        await person.say("w-5", "hello")
        await person.rest()
        await person.say("w-6", "error")
        await person.rest()
        await person.say("w-7", "subagent question")
        await person.rest()
        await person.too_late()
        await person.rest()
        await ann.has_everything()
        await ben.has_everything()

    async def queue(self, talk: Talk, eve: Screen) -> None:
        """A full queue whose messages are moved, replaced and removed; another model; stops; no follower."""
        cat = self.screen("cat", talk)
        await cat.come()
        person = self.person(talk, cat)
        first = await person.say("q-1", "long")
        await person.choose("model q-1", "fast")
        await person.control("control q-1")
        said = [await person.say(f"q-{number}", f"hello {number}") for number in range(2, 7)]
        ids = [answer.ack.queue_id if answer else None for answer in said]
        if ids[2] and ids[0]:
            await person.change("move q-4", "move", ids[2], before=ids[0])
        if ids[1]:
            await person.change("remove q-3", "remove", ids[1])
        if ids[0]:
            await person.change("replace q-2", "replace", ids[0], content="hello again")
        await person.stop("stop q-1", first, "hold")
        await person.rest()
        left = await person.say("q-7", "long")
        turn = left.ack.turn_id if left else None
        if turn is not None:
            await cat.until(
                lambda: turn in cat.grew or turn in cat.ended or is_at_rest(cat), "a sign"
            )
        if turn is not None and turn not in cat.ended and not is_at_rest(cat):
            await cat.leave()  # with the last follower the turn stops
            await eve.until(
                # A node that dies meanwhile may leave a turn that waits for a person.
                lambda: turn in eve.ended or (self.has_nodes and is_at_rest(eve)),
                "an end without followers",
            )
            await cat.come()
        await person.rest()
        await cat.has_everything()

    async def child(self, talk: Talk) -> None:
        """An agent in a process of its own: tools, a question, another model, a stop."""
        dan = self.screen("dan", talk)
        await dan.come()
        person = self.person(talk, dan)
        await person.say("c-1", "tool")
        await person.say("into c-1", "and then", steer=True)
        await person.say("c-2", "question")
        await person.rest()
        stopped = await person.say("c-3", "long")
        await person.choose("model c-3", "fast")
        await person.control("control c-3")
        await person.stop("stop c-3", stopped, "continue")
        await person.rest()
        await person.say("c-4", "permission")
        await person.rest()
        await person.too_late()
        await dan.has_everything()

    async def words(self, talk: Talk) -> None:
        """Answers that grow for longer than it takes to save them; the first one is taken back."""
        fay = self.screen("fay", talk)
        await fay.come()
        person = self.person(talk, fay)
        for number, words in enumerate(["error", "think", "hello"], 1):
            await person.say(f"l-{number}", words)
            if words == "think":
                await person.say("into l-2", "and in blue", steer=True)
            await person.rest()
        await fay.has_everything()

    async def newcomers(self, talk: Talk) -> None:
        """A new client, and clients whose copy is of another log or longer than this one."""
        new = self.screen(f"new {talk.id} {os.getpid()}", talk)
        await new.come()
        await new.has_everything()
        for name, last_sequence, epoch in [("foreign", 1, "another"), ("beyond", 10_000, None)]:
            other = self.screen(f"{name} {talk.id} {os.getpid()}", talk)
            await other.come(last_sequence=last_sequence, epoch=epoch)
            await other.has_everything()


def end_with_the_sweep() -> None:
    """Ends this process when the sweep is gone: its server is gone, too, and is waited for in vain."""
    os.read(0, 1)
    os._exit(1)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.prove.day")
    parser.add_argument("folder", type=Path)
    parser.add_argument("part", nargs="?", default="nothing")
    parser.add_argument("--node", help="the name of this one")
    parser.add_argument("--nodes", type=int, default=1, help="how many there are")
    parser.add_argument("--count", action="store_true", help="passes of crash points")
    given = parser.parse_args()
    folder = given.folder
    if given.node:
        hold_signals()
    broken_parts.put_in(given.part)
    counts: Counter[str] = Counter()
    if given.count:
        on_reach(lambda point: counts.update([point.name.lower()]))
    if is_database(address_in(folder)):
        threading.Thread(target=end_with_the_sweep, daemon=True).start()
    place = NodePlace(folder, given.node, given.nodes) if given.node else None
    asyncio.run(Day(folder, place).run())
    if counts:
        every = {point.name.lower(): counts[point.name.lower()] for point in CrashPoint}
        counts_of(folder, given.node).write_bytes(msgspec.json.encode(every))


def counts_of(folder: Path, node: str | None) -> Path:
    """Returns the file of how often a server passed each crash point."""
    return folder / f"counts{node or ''}.json"


if __name__ == "__main__":
    main()
