// kill -9 of the server in the middle, with clients attached: afterwards they show what the log says.
import { expect, test } from "vitest";
import { Client, type View } from "../src/node.js";
import { reference, Server } from "./server.js";
import { replyToAll, say } from "./talking.js";

const moments: [string, string, (view: View) => boolean][] = [
  ["while an answer grows", "long", (view) => view.messages.some((message) => message.streaming)],
  ["while a tool runs", "tool", (view) => JSON.stringify(view).includes('"output"')],
  ["while a question waits", "question", (view) => (view.status?.requests.length ?? 0) > 0],
  ["before anything is said", "hello", () => true],
];

test.concurrent.each(moments)(
  "killed %s, the view is what the log says, and it goes on",
  async (_, prompt, isThere) => {
    const server = await Server.start();
    const client = new Client(server.url, { token: server.token });
    const other = new Client(server.url, { token: server.token });
    try {
      const conversation = client.conversation(await client.create({ options: { delay: 0.02 } }));
      const witness = other.conversation(conversation.id).open();
      const sent = conversation.send(prompt);
      await conversation.until((view) => view.turns.length === 0 && isThere(view));
      await server.kill();
      await conversation.until(() => conversation.snapshot.connection === "connecting");
      await server.restart();
      await sent; // acknowledged before, or sent again and acknowledged now

      replyToAll(conversation);
      const view = await say(conversation, "hello");
      const { id } = conversation;
      const views = await reference<Record<string, View>>(["views", server.url, server.token, id]);
      expect(view).toStrictEqual(views[id]);
      expect(view.messages.filter((message) => message.role === "user")).toHaveLength(2);
      expect(view.messages.some((message) => message.streaming)).toBe(false);
      const seen = await witness.until((seen) => seen.cursor === view.cursor && !seen.status?.running);
      expect(seen).toStrictEqual(view);
    } finally {
      client.close();
      other.close();
      await server.stop();
    }
  },
);
