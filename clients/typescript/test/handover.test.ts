// Another agent takes a conversation over: the client gets its capabilities.
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { Client, type Refused } from "../src/node.js";
import { say } from "./conversation_actions.js";
import { Server } from "./server.js";

let server: Server;

beforeAll(async () => {
  server = await Server.start({
    TURNWIRE_AGENTS: "demo,replay",
    TURNWIRE_AGENT: "demo",
    TURNWIRE_HEARTBEAT_SECONDS: "600",
  });
});

afterAll(() => server?.stop());

test("the capabilities are those of the agent that speaks, and nothing is shown twice", async () => {
  const client = new Client(server.url, { token: server.token });
  const conversation = client.conversation(await client.create({ agent: "demo", options: { delay: 0 } }));
  await say(conversation, "hello");
  expect(conversation.snapshot.capabilities?.agent).toBe("demo");
  const refused = await conversation.setAgent("missing").catch((error: unknown) => error);
  expect((refused as Refused).code).toBe("INVALID_PAYLOAD");
  expect((await conversation.setAgent("replay")).agent).toBe("replay");
  await vi.waitFor(
    () => {
      const { capabilities, connection, view } = conversation.snapshot;
      expect([capabilities?.agent, connection, view.status?.agent]).toEqual([
        "replay",
        "connected",
        "replay",
      ]);
    },
    { timeout: 30_000 },
  );
  const view = await say(conversation, "and you?");
  const said = view.messages.flatMap(({ blocks }) =>
    blocks.flatMap((b) => (b.type === "text" ? [b.text] : [])),
  );
  expect(said.filter((text) => text === "The answer is 42.")).toHaveLength(1);
  const changes = view.messages.filter(
    ({ blocks: [block] }) => block?.type === "event" && block.subtype === "agent",
  );
  expect(changes).toHaveLength(1);
  client.close();
});
