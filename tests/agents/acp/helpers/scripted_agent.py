"""A small agent that speaks the Agent Client Protocol. The words of a prompt say what it does.

It is run as a program. The environment changes it: SCRIPTED_STATE names the file of its sessions,
SCRIPTED_WITHOUT lists abilities that it lacks (resume, load, modes, id, changes, browser, image), SCRIPTED_LOGIN=1 wants a
login, SCRIPTED_VERSION is the version of the protocol, as JSON.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from itertools import count
from pathlib import Path
from typing import Any

STATE = Path(os.environ["SCRIPTED_STATE"])
WITHOUT = os.environ.get("SCRIPTED_WITHOUT", "").split()
MODES = {
    "currentModeId": "ask",
    "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "code", "name": "Code"}],
}
MODELS = [{"value": "small", "name": "Small"}, {"value": "large", "name": "Large"}]
MODEL = {"id": "m", "name": "Model", "category": "model", "type": "select", "options": MODELS}
EFFORTS = {"small": ["low"], "large": ["low", "high"]}  # of each model
EFFORT = {"id": "effort", "name": "Effort", "category": "thought_level", "type": "select"}
WEB = {"id": "web", "name": "Web search", "type": "boolean"}


class Cancelled(Exception):
    """The turn is to stop."""


class LoggedOut(Exception):
    """The turn needs a login."""


class McpClient:
    """A client of an MCP server over stdio, with calls at the same time."""

    def __init__(self, server: dict[str, Any]) -> None:
        self.name = server["name"]
        given = {each["name"]: each["value"] for each in server["env"]}
        self.numbers = count(1)
        self.answers: dict[int, queue.Queue[Any]] = {}
        self.heard: list[dict[str, Any]] = []  # without an answer
        self.process = subprocess.Popen(
            [server["command"], *server["args"]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **given},
            text=True,
        )
        threading.Thread(target=self.listen, daemon=True).start()
        about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x"}}
        self.about = self.ask("initialize", about).get()
        self.send(method="notifications/initialized")

    def send(self, **message: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            message = json.loads(line)
            if "id" in message:
                self.answers[message["id"]].put(message.get("result", message.get("error")))
            else:
                self.heard.append(message)

    def ask(self, method: str, params: dict[str, Any]) -> queue.Queue[Any]:
        number = next(self.numbers)
        self.answers[number] = queue.Queue()
        self.send(id=number, method=method, params=params)
        return self.answers[number]

    def call(self, tool: str, **arguments: Any) -> queue.Queue[Any]:
        return self.ask("tools/call", {"name": tool, "arguments": arguments})


class Agent:
    def __init__(self) -> None:
        self.servers: list[McpClient] = []
        self.numbers = count(1)
        self.session = ""
        self.answers: dict[int, queue.Queue[Any]] = {}
        self.cancelled = threading.Event()
        self.lock = threading.Lock()
        self.chosen: dict[str, Any] = {"m": "small", "effort": "low", "web": False, "mode": "ask"}
        self.logged_in = not os.environ.get("SCRIPTED_LOGIN")

    def send(self, **message: Any) -> None:
        with self.lock:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            sys.stdout.flush()

    def update(self, update: str, **fields: Any) -> None:
        params = {"sessionId": self.session, "update": {"sessionUpdate": update, **fields}}
        self.send(method="session/update", params=params)

    def say(self, text: str, kind: str = "agent_message_chunk") -> None:
        if self.cancelled.is_set():
            raise Cancelled
        self.update(kind, content={"type": "text", "text": text})

    def ask(self, method: str, **params: Any) -> Any:
        """Sends a request and waits for its result. An error is returned as it is."""
        number = next(self.numbers)
        self.answers[number] = queue.Queue()
        self.send(id=number, method=method, params={"sessionId": self.session, **params})
        return self.answers[number].get()

    # --- requests of the host -----------------------------------------------------------------

    def serve(self) -> None:
        for line in sys.stdin:
            message = json.loads(line)
            if "method" not in message:
                answer = message.get("result", {"error": message.get("error")})
                self.answers[message["id"]].put(answer)
            elif message["method"] == "session/cancel":
                self.cancelled.set()
            elif message["method"] == "session/prompt":
                threading.Thread(target=self.turn, args=[message], daemon=True).start()
            else:
                self.reply(message)

    def reply(self, message: dict[str, Any]) -> None:
        params, sessions = message["params"], self.sessions()
        if "mcpServers" in params:
            self.servers = [McpClient(each) for each in params["mcpServers"]]
        match message["method"]:
            case "initialize":
                able: dict[str, Any] = {"resume": {}} if "resume" not in WITHOUT else {}
                capabilities = {
                    "loadSession": "load" not in WITHOUT,
                    "promptCapabilities": {"image": "image" not in WITHOUT},
                    "sessionCapabilities": able,
                }
                ways = [
                    {"id": "key", "type": "env_var", "vars": [{"name": "SCRIPTED_KEY"}]},
                    {"id": "tui", "name": "Terminal", "type": "terminal", "args": ["log", "in"]},
                ]
                method = {"id": "login", "name": "Log in", "description": "Run `scripted login`"}
                info = {"name": "scripted", "version": "1.0"}
                version = json.loads(os.environ.get("SCRIPTED_VERSION", "1"))
                result: Any = {"protocolVersion": version, "agentCapabilities": capabilities}
                result |= {"authMethods": [method, *ways], "agentInfo": info}
            case "authenticate" if "browser" in WITHOUT:
                threading.Thread(target=self.log_in, args=[message], daemon=True).start()
                return
            case "authenticate":
                self.logged_in = params["methodId"] == "login"
                result = {}
            case "session/new" if not self.logged_in:
                self.error(message, -32000, "Authentication required")
                return
            case "session/new":
                self.session = f"session-{len(sessions) + 1}"
                self.store({**sessions, self.session: []})
                named = {} if "id" in WITHOUT else {"sessionId": self.session}
                result = {**named, **self.settings()}
            case "session/load" | "session/resume":
                if params["sessionId"] not in sessions:
                    self.error(message, -32002, "There is no such session")
                    return
                self.session = params["sessionId"]
                if message["method"] == "session/load":
                    for said in sessions[self.session]:
                        self.update("user_message_chunk", content={"type": "text", "text": said})
                        self.update("agent_message_chunk", content={"type": "text", "text": "Old."})
                result = self.settings()
            case "session/set_mode" if params["modeId"] not in ("ask", "code"):
                self.error(message, -32602, "There is no such mode")
                return
            case "session/set_mode":
                self.chosen["mode"] = params["modeId"]
                result = {}
            case "session/set_config_option" if "changes" in WITHOUT:
                self.error(message, -32603, "Not now")
                return
            case "session/set_config_option" if not self.takes(params):
                self.error(message, -32602, "There is no such value")
                return
            case "session/set_config_option":
                self.chosen[params["configId"]] = params["value"]
                if self.chosen["effort"] not in EFFORTS[self.chosen["m"]]:
                    self.chosen["effort"] = "low"
                result = {"configOptions": self.options()}
            case _:
                result = {}
        self.send(id=message["id"], result=result)

    def log_in(self, message: dict[str, Any]) -> None:
        """Asks a person to log in on a web page, before there is a session."""
        about = {"url": "https://example.org/in", "elicitationId": "web-1"}
        scope = {"requestId": message["id"], "mode": "url", "message": "Log in here:"}
        number = next(self.numbers)
        self.answers[number] = queue.Queue()
        self.send(id=number, method="elicitation/create", params={**scope, **about})
        if self.answers[number].get().get("action") == "accept":
            self.send(id=message["id"], result={})
        else:
            self.error(message, -32000, "Authentication required")

    def error(self, message: dict[str, Any], code: int, said: str) -> None:
        self.send(id=message["id"], error={"code": code, "message": said})

    def settings(self) -> dict[str, Any]:
        if "modes" in WITHOUT:
            return {}
        modes = {**MODES, "currentModeId": self.chosen["mode"]}
        return {"modes": modes, "configOptions": self.options()}

    def options(self) -> list[dict[str, Any]]:
        efforts = [{"value": each, "name": each.title()} for each in EFFORTS[self.chosen["m"]]]
        return [
            {**MODEL, "currentValue": self.chosen["m"]},
            {**EFFORT, "options": efforts, "currentValue": self.chosen["effort"]},
            {**WEB, "currentValue": self.chosen["web"]},
        ]

    def takes(self, params: dict[str, Any]) -> bool:
        option = next(each for each in self.options() if each["id"] == params["configId"])
        if "options" not in option:
            return params.get("type") == "boolean" and isinstance(params["value"], bool)
        return params["value"] in [each["value"] for each in option["options"]]

    def sessions(self) -> dict[str, list[str]]:
        return json.loads(STATE.read_text()) if STATE.exists() else {}

    def store(self, sessions: dict[str, list[str]]) -> None:
        # Several agents share the file: each finds it whole.
        half = STATE.with_name(f"{STATE.name}.{os.getpid()}-{threading.get_ident()}")
        half.write_text(json.dumps(sessions))
        half.replace(STATE)

    # --- a turn -------------------------------------------------------------------------------

    def turn(self, message: dict[str, Any]) -> None:
        self.cancelled.clear()
        self.prompt = message["params"]["prompt"]
        words = " ".join(each.get("text", "") for each in message["params"]["prompt"])
        sessions = self.sessions()
        sessions[self.session].append(words)
        self.store(sessions)
        reason = "end_turn"
        try:
            for name, act in ACTS.items():
                if name in words:
                    act(self)
            self.say("Done.")
        except Cancelled:
            reason = "cancelled"
        except LoggedOut:
            self.error(message, -32000, "The login has expired.")
            return
        except RuntimeError as failed:
            self.error(message, -32603, str(failed))
            return
        usage = {"inputTokens": 3, "outputTokens": 4, "totalTokens": 7}
        self.send(id=message["id"], result={"stopReason": reason, "usage": usage})

    def settle(self) -> None:
        """Says what is chosen."""
        self.say(json.dumps(self.chosen))

    def received(self) -> None:
        """Says which content it was given."""
        self.say(json.dumps(self.prompt))

    def switch(self) -> None:
        """Changes its options by itself."""
        self.chosen |= {"m": "large", "effort": "high"}
        self.update("config_option_update", configOptions=self.options())

    def think(self) -> None:
        self.say("Hm.", "agent_thought_chunk")

    def count(self) -> None:
        number = 0
        while not self.cancelled.wait(0.01):
            number += 1
            self.say(f"{number} ")
        raise Cancelled

    def tool(self) -> None:
        call = f"call-{next(self.numbers)}-{os.getpid()}"
        self.update("tool_call", toolCallId=call, title="echo", kind="execute", rawInput={"a": 1})
        self.update("tool_call_update", toolCallId=call, status="in_progress")
        done = [{"type": "content", "content": {"type": "text", "text": "said a"}}]
        self.update("tool_call_update", toolCallId=call, status="completed", content=done)

    def shell(self) -> None:
        """A command, as opencode tells it."""
        call = f"call-{next(self.numbers)}-{os.getpid()}"
        given = {"command": "echo out", "description": "Say out"}
        begun = {"toolCallId": call, "title": "echo out", "kind": "execute", "rawInput": given}
        self.update("tool_call", **begun, status="in_progress")
        done = [{"type": "content", "content": {"type": "text", "text": "out\n"}}]
        self.update("tool_call_update", toolCallId=call, status="completed", content=done)

    def patch(self) -> None:
        """A changed file, as codex-acp tells it: without arguments."""
        call = f"call-{next(self.numbers)}-{os.getpid()}"
        change = {"type": "diff", "path": "/w/soup.txt", "oldText": "cold\n", "newText": "hot\n"}
        begun = {"toolCallId": call, "title": "Editing files", "kind": "edit"}
        self.update("tool_call", **begun, status="in_progress", content=[change])
        self.update("tool_call_update", toolCallId=call, status="completed")

    def permission(self) -> None:
        call = f"call-{next(self.numbers)}-{os.getpid()}"
        self.update("tool_call", toolCallId=call, title="delete", kind="delete", status="pending")
        options = [
            {"optionId": "yes", "kind": "allow_once", "name": "Yes"},
            {"optionId": "ever", "kind": "allow_always", "name": "Always delete"},
            {"optionId": "no", "kind": "reject_once", "name": "No"},
        ]
        wanted = {"toolCallId": call, "rawInput": {"path": "/x"}, "title": "Delete /x"}
        answer = self.ask("session/request_permission", toolCall=wanted, options=options)
        if answer["outcome"]["outcome"] == "cancelled":
            raise Cancelled
        chosen = answer["outcome"]["optionId"]
        status = "failed" if chosen == "no" else "completed"
        self.update("tool_call_update", toolCallId=call, status=status, rawOutput=chosen)

    def question(self) -> None:
        size = {"type": "string", "title": "Size", "enum": ["small", "large"]}
        schema = {"type": "object", "properties": {"size": size}}
        answer = self.ask(
            "elicitation/create", mode="form", message="Soup?", requestedSchema=schema
        )
        if answer["action"] == "cancel":
            raise Cancelled
        self.say(f"You said {json.dumps(answer.get('content'))}. ")

    def form(self) -> None:
        """A form of which one field is required."""
        size = {"type": "string", "title": "Size", "enum": ["small", "large"]}
        fields = {"size": size, "note": {"type": "string", "title": "Note"}}
        schema = {"type": "object", "properties": fields, "required": ["size"]}
        answer = self.ask(
            "elicitation/create", mode="form", message="Soup?", requestedSchema=schema
        )
        self.say(f"You said {json.dumps(answer)}. ")

    def website(self) -> None:
        """A question that is answered on a web page, where a person finishes it."""
        about = {"url": "https://example.org/in", "elicitationId": "web-1"}
        threading.Timer(0.2, self.finished).start()
        answer = self.ask("elicitation/create", mode="url", message="Log in", **about)
        self.say(f"You did {answer['action']}. ")

    def finished(self) -> None:
        self.send(method="elicitation/complete", params={"elicitationId": "web-1"})

    def logout(self) -> None:
        raise LoggedOut

    def plan(self) -> None:
        self.update("plan", entries=[{"content": "Look", "status": "pending", "priority": "low"}])

    def delegate(self) -> None:
        """A sub-agent with a session of its own."""
        main, self.session = self.session, "child"
        self.update("usage_update", used=1)
        self.say("Of the child. ")
        self.session = main

    def read(self) -> None:
        self.say(json.dumps(self.ask("fs/read_text_file", path=str(Path.cwd() / "in.txt"), line=2)))

    def outside(self) -> None:
        self.say(json.dumps(self.ask("fs/read_text_file", path="/etc/hostname")))

    def write(self) -> None:
        path = str(Path.cwd() / "out.txt")
        self.say(json.dumps(self.ask("fs/write_text_file", path=path, content="written")))

    def allowed(self, **call: Any) -> bool:
        """Asks for the permission of a call, which it announces first."""
        call_id = f"call-{next(self.numbers)}-{os.getpid()}"
        self.update("tool_call", toolCallId=call_id, status="pending", **call)
        options = [
            {"optionId": "yes", "kind": "allow_once", "name": "Yes"},
            {"optionId": "ever", "kind": "allow_always", "name": "Always"},
            {"optionId": "no", "kind": "reject_once", "name": "No"},
        ]
        wanted = {"toolCallId": call_id}
        answer = self.ask("session/request_permission", toolCall=wanted, options=options)
        if answer["outcome"]["outcome"] == "cancelled":
            raise Cancelled
        self.call = call_id
        return bool(answer["outcome"]["optionId"] != "no")

    def ends_call(self) -> None:
        self.update("tool_call_update", toolCallId=self.call, status="completed")

    def put(self, name: str) -> None:
        path = str(Path.cwd() / name)
        self.say(json.dumps(self.ask("fs/write_text_file", path=path, content="written")))

    def launch(self, *args: str) -> None:
        made = self.ask("terminal/create", command="touch", args=list(args))
        if "terminalId" in made:
            self.ask("terminal/wait_for_exit", terminalId=made["terminalId"])
            self.ask("terminal/release", terminalId=made["terminalId"])

    def borrow(self) -> None:
        """Is allowed to look at a file, and then changes it and runs a command."""
        path = str(Path.cwd() / "a.txt")
        self.allowed(title="Look", kind="search", locations=[{"path": path}], rawInput={"a": path})
        self.put("a.txt")
        self.launch("b.txt")
        self.ends_call()

    def revise(self) -> None:
        """Is allowed to change a file, changes it, and changes it and another one once more."""
        path = str(Path.cwd() / "a.txt")
        if self.allowed(title="Edit a.txt", kind="edit", locations=[{"path": path}]):
            self.put("a.txt")
            self.ends_call()
        if self.allowed(title="Edit a.txt", kind="edit", locations=[{"path": path}]):
            self.ends_call()
            self.put("a.txt")
            self.put("b.txt")

    def outright(self) -> None:
        """Is allowed to run a command, runs it, and runs it and another one once more."""
        line = "touch a.txt"
        if self.allowed(title=line, kind="execute", rawInput={"command": line}):
            self.launch("a.txt")
            self.launch("a.txt")
            self.launch("b.txt")
            self.ends_call()

    def terminal(self) -> None:
        made = self.ask(
            "terminal/create", command="sh", args=["-c", "echo out; echo err >&2; exit 3"]
        )
        if "error" in made:
            self.say(json.dumps(made))
            return
        terminal = made["terminalId"]
        call = f"call-{next(self.numbers)}-{os.getpid()}"
        content = [{"type": "terminal", "terminalId": terminal}]
        started = {"toolCallId": call, "title": "sh", "status": "in_progress", "content": content}
        self.update("tool_call", **started)
        self.say(json.dumps(self.ask("terminal/wait_for_exit", terminalId=terminal)))
        self.say(json.dumps(self.ask("terminal/output", terminalId=terminal)))
        self.ask("terminal/release", terminalId=terminal)
        self.say(json.dumps(self.ask("terminal/output", terminalId=terminal)))

    def sleeper(self) -> None:
        made = self.ask("terminal/create", command="sleep", args=["1000"])
        self.say(f"Sleeps in {made['terminalId']}. ")
        self.count()

    # --- tools of the front end ---------------------------------------------------------------

    def told(self, answer: queue.Queue[Any]) -> dict[str, Any]:
        """Waits for a tool of the front end, until the turn is stopped."""
        while True:
            try:
                result: dict[str, Any] = answer.get(timeout=0.02)
                return result
            except queue.Empty:
                if self.cancelled.is_set():
                    raise Cancelled from None

    def announces(self, call: str, **fields: Any) -> None:
        title = f"{self.servers[-1].name}_paint"
        self.update("tool_call", toolCallId=call, title=title, **fields)

    def ends(self, call: str, result: dict[str, Any]) -> None:
        status = "failed" if result["isError"] else "completed"
        done = [{"type": "content", "content": each} for each in result["content"]]
        self.update("tool_call_update", toolCallId=call, status=status, content=done)

    def brush(self) -> None:
        """Calls a tool of the front end, as opencode tells it."""
        given = {"colour": "blue"}
        self.announces("brush-a", status="pending", rawInput={})
        self.update("tool_call_update", toolCallId="brush-a", status="in_progress", rawInput=given)
        self.ends("brush-a", self.told(self.servers[-1].call("paint", **given)))

    def duet(self) -> None:
        """Calls a tool twice at once. The second call comes first over MCP, before it is told."""
        red = self.servers[-1].call("paint", colour="red")
        for call, colour in (("duet-blue", "blue"), ("duet-red", "red")):
            self.announces(call, status="pending", rawInput={})
            change = {"status": "in_progress", "rawInput": {"colour": colour}}
            self.update("tool_call_update", toolCallId=call, **change)
        blue = self.servers[-1].call("paint", colour="blue")
        self.ends("duet-red", self.told(red))
        self.ends("duet-blue", self.told(blue))

    def mute(self) -> None:
        """Calls a tool without a word about it."""
        result = self.told(self.servers[-1].call("paint", colour="blue"))
        self.say(f"It said: {result['content'][0]['text']} ")

    def belated(self) -> None:
        """Tells of a call after the front end has run it."""
        result = self.told(self.servers[-1].call("paint", colour="blue"))
        self.announces("late-a", status="pending", rawInput={})
        self.update("tool_call_update", toolCallId="late-a", rawInput={"colour": "blue"})
        self.ends("late-a", result)

    def bare(self) -> None:
        """Calls a tool, and tells no arguments of it."""
        self.announces("bare-a", status="in_progress")
        self.ends("bare-a", self.told(self.servers[-1].call("paint", colour="blue")))

    def abandon(self) -> None:
        """Gives a call up, as if it had taken too long."""
        self.announces("gone-a", status="in_progress", rawInput={"colour": "blue"})
        answer = self.servers[-1].call("paint", colour="blue")
        number = next(each for each, own in self.servers[-1].answers.items() if own is answer)
        self.servers[-1].send(method="notifications/cancelled", params={"requestId": number})
        text = {"type": "text", "text": "Timed out."}
        self.ends("gone-a", {"isError": True, "content": [text]})

    def crash(self) -> None:
        self.say("I cr")
        os._exit(7)

    def fail(self) -> None:
        raise RuntimeError("The model said no.")

    def unknown(self) -> None:
        self.say(json.dumps(self.ask("_own/thing")))
        print("noise that is no message", flush=True)

    def commands(self) -> None:
        self.update("available_commands_update", availableCommands=[{"name": "init"}])
        self.update("usage_update", used=50, size=200, cost={"amount": 0.5, "currency": "USD"})


ACTS = {
    "settings": Agent.settle,
    "received": Agent.received,
    "switch": Agent.switch,
    "think": Agent.think,
    "count": Agent.count,
    "tool": Agent.tool,
    "shell": Agent.shell,
    "patch": Agent.patch,
    "permission": Agent.permission,
    "question": Agent.question,
    "form": Agent.form,
    "website": Agent.website,
    "logout": Agent.logout,
    "plan": Agent.plan,
    "delegate": Agent.delegate,
    "read": Agent.read,
    "outside": Agent.outside,
    "write": Agent.write,
    "borrow": Agent.borrow,
    "revise": Agent.revise,
    "outright": Agent.outright,
    "terminal": Agent.terminal,
    "sleeper": Agent.sleeper,
    "brush": Agent.brush,
    "duet": Agent.duet,
    "mute": Agent.mute,
    "belated": Agent.belated,
    "bare": Agent.bare,
    "abandon": Agent.abandon,
    "crash": Agent.crash,
    "fail": Agent.fail,
    "unknown": Agent.unknown,
    "commands": Agent.commands,
}

if __name__ == "__main__":
    Agent().serve()
