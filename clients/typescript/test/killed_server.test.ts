// The server is killed with clients connected. Afterwards the clients show what the log has.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Client, type Conversation, type RpcSession, type RpcTurn, type View } from "../src/node.js";
import { replyToAll, say, until } from "./conversation_actions.js";
import { reference, Server } from "./server.js";

interface Moment {
  when: string;
  prompt: string;
  isThere: (view: View) => boolean;
}

const isGrowing = (view: View) => view.messages.some((message) => message.streaming);

// In the order in which the test waits for them; the first ones last long enough.
const moments: Moment[] = [
  {
    when: "while a question waits",
    prompt: "question",
    isThere: (view) => (view.status?.requests.length ?? 0) > 0,
  },
  { when: "while an answer grows", prompt: "long", isThere: isGrowing },
  {
    when: "while a tool runs",
    prompt: "tool",
    isThere: (view) => JSON.stringify(view).includes('"output"'),
  },
  { when: "before anything is said", prompt: "hello", isThere: () => true },
];

describe("a server that was killed and started again", () => {
  const options = { delay: 0.03 };
  const talks = new Map<string, { conversation: Conversation; witness: Conversation }>();
  let server: Server;
  let client: Client;
  let other: Client;
  let session: RpcSession;
  let turn: RpcTurn;
  let views: Record<string, View>;

  beforeAll(async () => {
    server = await Server.start();
    client = new Client(server.url, { token: server.token });
    other = new Client(server.url, { token: server.token });
    session = client.rpc({ provider: "demo", options });
    turn = session.query("long");
    await session.until(isGrowing);
    const sent = [];
    for (const { when, prompt, isThere } of moments) {
      const conversation = client.conversation(await client.create({ options }));
      talks.set(when, { conversation, witness: other.conversation(conversation.id).open() });
      sent.push(conversation.send(prompt));
      await conversation.until((view) => view.turns.length === 0 && isThere(view));
    }
    await server.kill();
    for (const { when, isThere } of moments) {
      const { conversation } = talks.get(when) as { conversation: Conversation };
      expect(isThere(conversation.view()), when).toBe(true);
      await conversation.until(() => conversation.snapshot.connection === "connecting");
    }
    expect(isGrowing(session.view())).toBe(true);
    await until(() => session.snapshot.connection === "connecting");
    await server.restart();
    await Promise.all(sent); // acknowledged before the kill, or resent and acknowledged now

    const conversations = [...talks.values()].map((talk) => talk.conversation);
    const goOn = async (conversation: Conversation) => {
      replyToAll(conversation);
      await say(conversation, "think");
    };
    await Promise.all(conversations.map(goOn));
    const ids = conversations.map((conversation) => conversation.id);
    views = await reference(["views", server.url, server.token, ...ids]);
  });

  afterAll(async () => {
    client?.close();
    other?.close();
    await server?.stop();
  });

  test.each(moments)(
    "$when: the view shows what the log has, and the conversation continues",
    async ({ when }) => {
      const { conversation, witness } = talks.get(when) as {
        conversation: Conversation;
        witness: Conversation;
      };
      const view = conversation.view();
      expect(view).toStrictEqual(views[conversation.id]);
      expect(view.messages.filter((message) => message.role === "user")).toHaveLength(2);
      expect(isGrowing(view)).toBe(false);
      const seen = await witness.until((seen) => seen.cursor === view.cursor && !seen.status?.running);
      expect(seen).toStrictEqual(view);
    },
  );

  test("over RPC: the query ends, the view shows what the log has, and the conversation continues", async () => {
    expect(await turn.result()).toMatchObject({ terminal_reason: expect.stringContaining("aborted") });
    expect(session.view().turns[0]?.end.interrupted).toBe(true);
    await session.query("think").result();
    expect(isGrowing(session.view())).toBe(false);
    const { messages } = await session.call("getHistory", {});
    const [view] = await reference<View[]>(["fold"], [{ dialect: "rpc", frames: messages }]);
    expect(session.view()).toStrictEqual(view);
  });
});
