// The RPC client with a real server: queries, calls in both directions, broken connections.
import { isDeepStrictEqual } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { Client, Refused, type RpcMessage, type RpcSession, type View } from "../src/node.js";
import { readRpcMessage } from "../src/rpc/transcript.js";
import { BreakingProxy } from "./breaking_proxy.js";
import { say, until } from "./conversation_actions.js";
import { reference, Server } from "./server.js";

let server: Server;
let client: Client;

beforeAll(async () => {
  server = await Server.start();
});

afterAll(async () => {
  await server?.stop();
});

afterEach(() => client?.close());

function begin(url = server.url, conversation?: string): RpcSession {
  client = new Client(url, { token: server.token });
  const chosen = conversation === undefined ? { provider: "demo", options: { delay: 0 } } : { conversation };
  return client.rpc({ ...chosen, tool_progress: "output_delta" });
}

async function collected(messages: AsyncIterable<RpcMessage>): Promise<RpcMessage[]> {
  const all: RpcMessage[] = [];
  for await (const message of messages) all.push(message);
  return all;
}

/** Returns the view that Python makes of the log. */
async function inPython(session: RpcSession): Promise<View> {
  const { messages } = await session.call("getHistory", {});
  return (await reference<View[]>(["fold"], [{ dialect: "rpc", frames: messages }]))[0] as View;
}

/** Allows every permission and answers every question. */
function replyToAll(session: RpcSession): void {
  const replied = new Set<string>();
  session.subscribe(() => {
    for (const { request_id, kind } of session.snapshot.requests) {
      if (replied.has(request_id)) continue;
      replied.add(request_id);
      const reply =
        kind === "question" ? session.answer(request_id, "Blue") : session.decide(request_id, "allow");
      reply.catch(() => {}); // another client answered first, or the connection broke
    }
  });
}

describe("a query", () => {
  test("streams its turn, from the user's message to the result", async () => {
    const session = begin();
    const turn = session.query("think");
    const messages = await collected(turn);
    expect(await turn.accepted).toEqual({ turn_id: 1 });
    expect(messages[0]).toMatchObject({
      type: "user",
      message: { content: [{ type: "text", text: "think" }] },
    });
    expect(messages.at(-1)).toMatchObject({ type: "result", subtype: "success" });
    expect(messages.filter((message) => message.type === "stream_event").length).toBeGreaterThan(5);
    expect(session.view()).toStrictEqual(await inPython(session));
  });

  test("of all features of the demo gives the view of the log", async () => {
    const session = begin();
    replyToAll(session);
    const result = await session
      .query("think, tool, plan, helper, question, permission and background")
      .result();
    expect(result).toMatchObject({ is_error: false });
    await until(async () => isDeepStrictEqual(session.view(), await inPython(session)));
    const late = begin(server.url, session.id);
    await late.until((view) => view.turns.length === session.view().turns.length);
    expect(late.view()).toStrictEqual(session.view());
  });

  test("waits while another one runs", async () => {
    const session = begin();
    const [first, second] = [session.query("hello"), session.query("hello again")];
    expect(await second.accepted).toHaveProperty(["queue_id"]);
    expect(await first.result()).toMatchObject({ type: "result" });
    expect((await collected(second))[0]).toMatchObject({ message: { content: [{ text: "hello again" }] } });
    expect(session.view().turns).toHaveLength(2);
  });

  test("is accepted once, even if it is sent several times", async () => {
    const session = begin();
    await session.query("hello", "m-1").result();
    const again = session.query("hello", "m-1");
    expect(await again.accepted).toMatchObject({ duplicate: true });
    expect(await collected(again)).toEqual([]);
    await expect(session.query("something else", "m-1").accepted).rejects.toMatchObject({
      code: "IDEMPOTENCY_CONFLICT",
    });
    expect(session.view().turns).toHaveLength(1);
  });

  test("may have images only if the agent accepts them, and can be stopped", async () => {
    const session = begin();
    const picture = {
      type: "image" as const,
      source: { type: "url" as const, url: "https://example.org/a.png" },
    };
    const refused = await collected(session.query([picture])).catch((error) => error);
    const { images } = await session.call("getCapabilities", {});
    if (images) expect(refused).toBeInstanceOf(Array);
    else expect(refused).toBeInstanceOf(Refused);
    const turn = session.query("long");
    await turn.accepted;
    expect(await session.interrupt()).toMatchObject({ outcome: "requested" });
    expect(await turn.result()).toMatchObject({ type: "result" });
    expect(session.view().turns.at(-1)?.end.interrupted).toBe(true);
  });
});

describe("other methods", () => {
  test("answer, or are refused with a reason, and the connection stays", async () => {
    const session = begin();
    await session.query("hello").result();
    const { sessions } = await session.call("getHistorySessions", { limit: 500 });
    expect(sessions.map((each) => each.conversation)).toContain(session.id);
    const { messages, first } = await session.call("loadHistory", { limit: 1 });
    expect(messages.length).toBeGreaterThan(0);
    expect(first).toBeGreaterThan(1);
    await expect(session.call("getMcpStatus", {})).rejects.toMatchObject({ code: "NOT_SUPPORTED" });
    await expect(session.call("loadHistory", { limit: "x" as never })).rejects.toMatchObject({
      code: "INVALID_PAYLOAD",
    });
    const tooMuch = { code: "PAYLOAD_TOO_LARGE", data: { max_frame_bytes: 1 << 20 } };
    await expect(session.query("x".repeat(5_000_000)).accepted).rejects.toMatchObject(tooMuch);
    await session.query("hello again, half \ud83d").result();
    expect(JSON.stringify(session.view())).toContain("half \ufffd");
  });

  test("a conversation that does not exist is reported, without a retry", async () => {
    const session = begin(server.url, "nowhere");
    await expect(session.query("hello").accepted).rejects.toMatchObject({ code: "CONVERSATION_NOT_FOUND" });
    await until(() => session.snapshot.connection === "closed");
  });

  test("an unknown token is reported", async () => {
    const stranger = new Client(server.url, { token: "tw_wrong" }).rpc();
    await expect(stranger.query("hello").accepted).rejects.toMatchObject({ code: "UNAUTHORIZED" });
  });
});

test("two clients of each protocol show the same conversation", async () => {
  const first = begin();
  replyToAll(first);
  await first.query("hello").result();
  const id = first.id as string;
  const clients = [1, 2, 3].map(() => new Client(server.url, { token: server.token }));
  const second = clients[0]!.rpc({ conversation: id, tool_progress: "output_delta" }).open();
  const conversations = [clients[1]!.conversation(id), clients[2]!.conversation(id)];
  await Promise.all([
    first.query("think and use a tool").result(),
    second.query("ask a question").result(),
    say(conversations[0]!, "permission"),
    say(conversations[1]!, "make a plan and send a helper"),
  ]);
  for (const each of [first, second, ...conversations]) await each.until((view) => view.turns.length === 5);
  expect(second.view()).toStrictEqual(first.view());
  expect(first.view()).toStrictEqual(await inPython(first));
  expect(conversations[1]!.view()).toStrictEqual(conversations[0]!.view());
  const ids = (view: View) =>
    view.messages.filter((each) => each.role === "assistant").map((each) => each.id);
  expect(ids(first.view())).toEqual(ids(conversations[0]!.view()));
  for (const each of clients) each.close();
});

describe("a call of the server", () => {
  test.each(["question", "permission"])(
    "a %s is answered once, by the first client that answers",
    async (prompt) => {
      const session = begin();
      const turn = session.query(prompt);
      await until(() => session.snapshot.requests.length === 1);
      const other = begin(server.url, session.id).open();
      await until(() => other.snapshot.requests.length === 1);
      const id = session.id as string;
      const watcher = client.conversation(id);
      const seen = await watcher.until((view) => view.status?.requests.length === 1);
      const { request_id, kind } = other.snapshot.requests[0]!;
      expect(seen.status?.requests[0]?.request_id).toBe(request_id);
      await (kind === "question" ? other.answer(request_id, "Blue") : other.decide(request_id, "allow"));
      await until(() => session.snapshot.requests.length === 0 && other.snapshot.requests.length === 0);
      await expect(session.answer(request_id, "Red")).rejects.toMatchObject({ code: "INVALID_QUESTION_ID" });
      expect(await turn.result()).toMatchObject({ is_error: false });
      await watcher.until((view) => view.turns.length === 1 && view.status?.requests.length === 0);
    },
  );

  test("an invalid answer is refused, and another one may follow", async () => {
    const session = begin();
    const turn = session.query("question");
    await until(() => session.snapshot.requests.length === 1);
    const { request_id } = session.snapshot.requests[0]!;
    await expect(session.answer(request_id, 7 as never)).rejects.toMatchObject({ code: "INVALID_PAYLOAD" });
    await session.answer(request_id, "Blue");
    expect(await turn.result()).toMatchObject({ is_error: false });
  });
});

describe("a broken connection", () => {
  test("at any moment loses and repeats nothing of a turn", async () => {
    const breaker = await BreakingProxy.before(server.url);
    client = new Client(breaker.url, { token: server.token });
    const session = client.rpc({ provider: "demo", options: { delay: 0.005 } });
    replyToAll(session);
    const turn = session.query("think, use a tool, ask a question, send a helper and make a plan");
    const kept: RpcMessage[] = [];
    let count = 0;
    for await (const message of turn) {
      count += 1;
      if (message.type !== "stream_event") kept.push(message);
      if (count % 29 === 0) breaker.cut();
    }
    expect(breaker.connections).toBeGreaterThan(2);
    const { messages } = await session.call("getHistory", {});
    // All entries of this turn, in order, each once. A live result has more figures.
    const told = (data: RpcMessage) =>
      data.type === "result" ? [data.type, data.subtype, data.duration_ms] : data;
    expect(kept.map(told)).toEqual(messages.map(({ data }) => told(readRpcMessage(data))));
    expect(session.view()).toStrictEqual(await inPython(session));
    breaker.close();
  });

  test("before an answer has come makes the client ask again under the same id", async () => {
    const breaker = await BreakingProxy.before(server.url);
    const witness = begin();
    await witness.query("hello").result();
    const id = witness.id as string;
    const shaky = begin(breaker.url, id).open();
    await shaky.until((view) => view.turns.length === 1);
    breaker.swallows = true;
    const turn = shaky.query("hello again");
    await witness.until((view) => view.turns.length === 2);
    breaker.swallows = false;
    breaker.cut();
    expect(await turn.accepted).toMatchObject({ duplicate: true });
    await turn.result();
    await shaky.until((view) => view.turns.length === 2);
    expect(shaky.view()).toStrictEqual(witness.view());
    witness.close();
    breaker.close();
  });

  test("before the id of a new conversation is known creates no second one", async () => {
    const breaker = await BreakingProxy.before(server.url);
    const { length: before } = await new Client(server.url, { token: server.token }).list(500);
    breaker.swallows = "frames";
    const session = begin(breaker.url);
    const turn = session.query("hello");
    const witness = new Client(server.url, { token: server.token });
    const sessions = async () => (await witness.list(500)).length;
    await until(async () => (await sessions()) > before);
    breaker.swallows = false;
    breaker.cut();
    expect(await turn.result()).toMatchObject({ is_error: false });
    expect(await sessions()).toBe(before + 1);
    breaker.close();
  });
});
