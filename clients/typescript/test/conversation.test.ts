// The client with a real server: sending, resuming, resending, and permanent failures.
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { Client, Closed, type Conversation, Refused, type View } from "../src/node.js";
import { BreakingProxy } from "./breaking_proxy.js";
import { replyToAll, say, until } from "./conversation_actions.js";
import { reference, Server } from "./server.js";

/** A server with a long heartbeat interval: no test notices its silence. */
let server: Server;
/** A server with a heartbeat interval of one second. */
let quick: Server;
let client: Client;

beforeAll(async () => {
  [server, quick] = await Promise.all([
    Server.start({ TURNWIRE_HEARTBEAT_SECONDS: "600" }),
    Server.start({ TURNWIRE_HEARTBEAT_SECONDS: "1", TURNWIRE_PING_SECONDS: "60" }),
  ]);
});

afterAll(async () => {
  await Promise.all([server?.stop(), quick?.stop()]);
});

afterEach(() => client?.close());

function newClient(url = server.url, token = server.token): Client {
  client = new Client(url, { token });
  return client;
}

async function begin(options: Record<string, unknown> = { delay: 0 }): Promise<Conversation> {
  const client = newClient();
  return client.conversation(await client.create({ agent: "demo", options }));
}

/** Returns the views of the Python client. */
async function inPython(id: string): Promise<View> {
  return (await reference<Record<string, View>>(["views", server.url, server.token, id]))[id] as View;
}

describe("a conversation", () => {
  test("shows what the log has, and the message of each sender once", async () => {
    const conversation = await begin();
    replyToAll(conversation);
    await say(conversation, "everything");
    const view = await say(conversation, "hello");
    expect(view).toStrictEqual(await inPython(conversation.id));
    expect(view.messages.filter((message) => message.role === "user" && message.by)).toHaveLength(2);
  });

  test("is the same object for all callers, with the same view until a change", async () => {
    const conversation = await begin();
    expect(client.conversation(conversation.id)).toBe(conversation);
    await say(conversation, "hello");
    const { view } = conversation.snapshot;
    expect(conversation.view()).toBe(view);
    const after = await say(conversation, "hello again");
    expect(after).not.toBe(view);
    view.messages.forEach((message, at) => {
      expect(after.messages[at]).toBe(message);
    });
  });

  test("accepts a message once, even if it is sent several times", async () => {
    const conversation = await begin();
    const first = await conversation.send("hello", "m-1");
    const second = await conversation.send("hello", "m-1");
    expect(second).toEqual({ ...first, duplicate: true });
    await expect(conversation.send("other words", "m-1")).rejects.toMatchObject({
      code: "IDEMPOTENCY_CONFLICT",
      retryable: false,
    });
    const view = await conversation.until((view) => view.turns.length === 1);
    expect(view.messages.filter((message) => message.role === "user")).toHaveLength(1);
  });

  test("reports a refusal, and continues", async () => {
    const conversation = await begin();
    const refused = await conversation.answer("toolu_0", "blue").catch((error) => error);
    expect(refused).toBeInstanceOf(Refused);
    expect(refused).toMatchObject({
      code: "NO_PENDING_INPUT",
      whatToDo: expect.stringContaining("user.message"),
    });
    // The demo agent supports none of these.
    for (const ask of [
      () => conversation.control({ control: "mcp_toggle", server: "files", enabled: false }),
      () => conversation.setMaxThinkingTokens(1000),
    ])
      await expect(ask()).rejects.toMatchObject({ code: "NOT_SUPPORTED" });
    await say(conversation, "hello");
  });

  test("can be stopped, also if no turn runs", async () => {
    const conversation = await begin({ delay: 0.01 });
    expect(await conversation.interrupt()).toEqual({ outcome: "already_ended" });
    await conversation.send("long");
    await conversation.until((view) => view.messages.some((message) => message.streaming));
    expect(await conversation.interrupt()).toMatchObject({ outcome: "requested" });
    const view = await conversation.until((view) => view.turns.length === 1);
    expect(view.turns[0]?.end.interrupted).toBe(true);
  });

  test("that is not used any more disconnects when all commands are answered", async () => {
    const breaker = await BreakingProxy.before(server.url);
    onTestFinished(() => breaker.close());
    const client = newClient(breaker.url);
    const conversation = client.conversation(await client.create({ agent: "demo", options: { delay: 0 } }));
    const letGo = conversation.hold();
    await conversation.until((view) => view.status !== undefined);
    breaker.swallows = true;
    const sent = conversation.send("hello");
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    letGo();
    vi.advanceTimersByTime(1_000);
    vi.useRealTimers();
    expect(conversation.snapshot.connection).not.toBe("idle");
    breaker.swallows = false;
    breaker.cut();
    await sent;
    await expect.poll(() => conversation.snapshot.connection).toBe("idle");
  });

  test("that was released can be waited for again, and disconnects then", async () => {
    const client = newClient();
    const conversation = client.conversation(await client.create({ agent: "demo" }));
    conversation.hold()();
    await until(() => conversation.snapshot.connection === "idle");
    const view = await conversation.until((view) => view.status !== undefined);
    expect(view.status?.state).toBe("active");
    await until(() => conversation.snapshot.connection === "idle");
  });

  test("has a queue that can be changed", async () => {
    const conversation = await begin({ delay: 0.01 });
    await conversation.send("long");
    const { queue_id } = await conversation.send("never said");
    await conversation.changeQueue({ action: "remove", queue_id: queue_id as string });
    await conversation.interrupt();
    const view = await conversation.until((view) => view.turns.length === 1);
    expect(JSON.stringify(view)).not.toContain("never said");
  });

  test("reports every frame, replayed ones as they were first sent", async () => {
    const conversation = await begin();
    const heard: string[] = [];
    await say(conversation, "hello");
    conversation.close();
    const again = newClient().conversation(conversation.id);
    again.onFrame((frame) => heard.push(frame.type));
    await again.until((view) => view.turns.length === 1);
    expect(heard[0]).toBe("session.connected");
    expect(heard).toContain("user.message");
    expect(heard).toContain("assistant.complete");
    expect(heard).not.toContain("message.replay");
  });

  test("accepts a long message", async () => {
    const conversation = await begin();
    const words = "long ".repeat(60_000).trim();
    const view = await say(conversation, words);
    expect(view.messages[0]?.blocks[0]).toMatchObject({ type: "text", text: words });
  });

  test("refuses a message that is too large for the server, also before it is connected", async () => {
    const conversation = await begin();
    const tooMuch = {
      code: "PAYLOAD_TOO_LARGE",
      message: "A frame has no more than 1048576 bytes (max_frame_bytes).",
      data: { max_frame_bytes: 1 << 20 },
    };
    const first = conversation.send("漢".repeat(2_000_000)); // the client is not connected yet
    await expect(first).rejects.toMatchObject(tooMuch);
    await expect(conversation.send("x".repeat(1 << 20))).rejects.toMatchObject(tooMuch);
    await say(conversation, "hello");
    expect(conversation.snapshot.unanswered).toEqual([]);
  });

  test("replaces half of an emoji by a replacement character", async () => {
    const conversation = await begin();
    const view = await say(conversation, "half \ud83d, whole 😀, spelled \\ud83d");
    expect(view.messages[0]?.blocks[0]).toMatchObject({ text: "half \ufffd, whole 😀, spelled \\ud83d" });
  });

  test("accepts a token with a line break at its end, as a file has it", async () => {
    const other = new Client(server.url, { token: `${server.token}\n` });
    const followed = other.conversation(await other.create()).open();
    await followed.until(({ status }) => status !== undefined);
    other.close();
  });

  test("can start with its newest entries only", async () => {
    const conversation = await begin();
    await say(conversation, "hello");
    await say(conversation, "hello");
    const late = newClient().conversation(conversation.id, { tail: 2 });
    const view = await late.until((view) => view.status !== undefined);
    expect(view.first).toBe((view.cursor ?? 0) - 1);
    expect(view.messages.length).toBeLessThan(conversation.view().messages.length);
  });
});

describe("a permanent failure", () => {
  test("is a conversation that does not exist", async () => {
    const conversation = newClient().conversation("nowhere");
    const closed = await conversation.send("hello").catch((error) => error);
    expect(closed).toBeInstanceOf(Closed);
    expect(closed).toMatchObject({ code: "CONVERSATION_NOT_FOUND", closeCode: 4504 });
    await until(() => conversation.snapshot.connection === "closed");
    expect(conversation.snapshot.error).toBe(closed);
    await expect(conversation.until(() => false)).rejects.toBe(closed);
  });

  test("is an unknown token", async () => {
    const conversation = newClient(server.url, "tw_wrong").conversation("nowhere");
    await expect(conversation.send("hello")).rejects.toMatchObject({ code: "UNAUTHORIZED", closeCode: 4502 });
    await expect(client.create()).rejects.toMatchObject({ code: "UNAUTHORIZED" });
  });

  test("is a conversation that the program has closed; it can be opened again", async () => {
    const conversation = await begin();
    await say(conversation, "hello");
    const waiting = conversation.until((view) => view.turns.length === 2);
    conversation.close();
    await expect(waiting).rejects.toMatchObject({ code: "CLOSED" });
    await say(conversation, "hello again");
    expect(conversation.view().turns).toHaveLength(2);
  });

  test("is an unreachable server, for an HTTP request", async () => {
    await expect(newClient("http://127.0.0.1:1").list()).rejects.toMatchObject({ code: "UNREACHABLE" });
  });
});

// --- broken connections -----------------------------------------------------------------------------------

describe("a broken connection", () => {
  test("at any moment loses and repeats nothing", async () => {
    const breaker = await BreakingProxy.before(server.url);
    const conversation = await begin({ delay: 0.005 });
    const shaky = newClient(breaker.url).conversation(conversation.id);
    let frames = 0;
    shaky.onFrame((frame) => {
      frames += 1;
      // Cuts at once, also during a replay, a block or an answer. Then more rarely, so that the test ends.
      if (frames % 37 === 0 && frame.type !== "session.connected") breaker.cut();
    });
    replyToAll(shaky);
    await say(shaky, "think, use a tool, ask a question, send a helper and make a plan");
    expect(breaker.connections).toBeGreaterThan(2);
    expect(shaky.view()).toStrictEqual(await inPython(conversation.id));
    breaker.close();
  });

  test("before an answer has come makes the client ask again under the same id", async () => {
    const breaker = await BreakingProxy.before(server.url);
    const conversation = await begin();
    const shaky = newClient(breaker.url).conversation(conversation.id);
    await shaky.until((view) => view.status !== undefined);
    breaker.swallows = true; // the server receives, but its answers are dropped
    const sent = shaky.send("hello");
    await conversation.until((view) => view.turns.length === 1);
    const [unanswered] = shaky.snapshot.unanswered;
    expect(unanswered).toMatchObject({ type: "user.message", payload: { content: "hello" } });
    breaker.swallows = false;
    breaker.cut();
    expect(await sent).toMatchObject({ duplicate: true, turn_id: 1 });
    const view = await shaky.until((view) => view.turns.length === 1);
    expect(view).toStrictEqual(await inPython(conversation.id));
    expect(view.messages.filter((message) => message.role === "user")).toHaveLength(1);
    expect(shaky.snapshot.unanswered).toEqual([]);
    breaker.close();
  });

  test("during a restart of the server delays messages, and all of them arrive", async () => {
    const breaker = await BreakingProxy.before(server.url);
    const conversation = await begin();
    const shaky = newClient(breaker.url).conversation(conversation.id);
    await shaky.until((view) => view.status !== undefined);
    breaker.cut();
    await until(() => shaky.snapshot.connection === "connecting");
    await say(shaky, "hello");
    expect(shaky.snapshot.connection).toBe("connected");
    breaker.close();
  });
});

test("the client replaces its old connection when the network is back", async () => {
  const window = new EventTarget();
  vi.stubGlobal("addEventListener", window.addEventListener.bind(window));
  vi.stubGlobal("removeEventListener", window.removeEventListener.bind(window));
  onTestFinished(() => void vi.unstubAllGlobals());
  const breaker = await BreakingProxy.before(server.url);
  onTestFinished(() => breaker.close());
  const conversation = await begin();
  const away = newClient(breaker.url).conversation(conversation.id);
  await away.until((view) => view.status !== undefined);
  breaker.deaden();
  const sent = away.send("hello");
  await conversation.until((view) => view.turns.length === 1);
  window.dispatchEvent(new Event("online"));
  expect(await sent).toMatchObject({ duplicate: true, turn_id: 1 });
  expect(breaker.connections).toBe(2);
});

test("the client replaces a silent connection", async () => {
  const breaker = await BreakingProxy.before(quick.url);
  const conversation = newClient(breaker.url, quick.token);
  const id = await conversation.create();
  const talk = conversation.conversation(id);
  await talk.until((view) => view.status !== undefined);
  const before = breaker.connections;
  breaker.swallows = true;
  await until(() => talk.snapshot.connection === "connecting");
  breaker.swallows = false;
  await talk.until(() => talk.snapshot.connection === "connected" && breaker.connections > before);
  await say(talk, "think");
  breaker.close();
});
