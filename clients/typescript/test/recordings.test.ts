// All recorded streams, in the reducers and played by a real server.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Client, readFrame, readRpcMessage, Transcript, ViewReducer } from "../src/node.js";
import { replyToAll, say } from "./conversation_actions.js";
import { reference, Server } from "./server.js";

interface Recording {
  name: string;
  turns: number;
  v2: unknown[];
  view: unknown;
  rpc: { data: unknown }[];
  rpc_view: unknown;
}

const recordings = await reference<Recording[]>(["recordings"]);

describe.each(recordings)("$name", (recording) => {
  test("is shown as Python shows it, frame by frame and twice", () => {
    for (const frames of [recording.v2, [...recording.v2, ...recording.v2]]) {
      const reducer = new ViewReducer();
      for (const frame of frames) {
        reducer.apply(readFrame(frame));
        reducer.view();
      }
      expect(reducer.view()).toStrictEqual(recording.view);
    }
  });

  test("is shown as Python shows it over RPC, message by message and twice", () => {
    for (const frames of [recording.rpc, [...recording.rpc, ...recording.rpc]]) {
      const transcript = new Transcript();
      for (const { data } of frames) {
        transcript.apply(readRpcMessage(data));
        transcript.view();
      }
      expect(transcript.view()).toStrictEqual(recording.rpc_view);
    }
  });
});

describe("played by a real server", () => {
  let server: Server;
  let client: Client;

  beforeAll(async () => {
    const agents = recordings.map(({ name }) => `played:${name}`);
    server = await Server.start({ TURNWIRE_AGENTS: ["demo", ...agents].join() });
    client = new Client(server.url, { token: server.token });
  });

  afterAll(async () => {
    client?.close();
    await server?.stop();
  });

  test("all recordings are shown as Python shows them, over both protocols", async () => {
    const play = async ({ name, turns }: Recording) => {
      const id = await client.create({ agent: name });
      const conversation = client.conversation(id);
      const session = client.rpc({ conversation: id, tool_progress: "output_delta" }).open();
      const done = replyToAll(conversation);
      for (let turn = 1; turn <= turns; turn += 1) await say(conversation, `turn ${turn}`);
      done();
      const view = conversation.view();
      conversation.close();
      await session.until(({ turns }) => turns.length === view.turns.length);
      const { messages } = await session.call("getHistory", {});
      const overRpc = session.view();
      session.close();
      return { id, view, overRpc, history: { dialect: "rpc", frames: messages } };
    };
    const played = await Promise.all(recordings.map(play));
    const views = Object.fromEntries(played.map(({ id, view }) => [id, view]));
    const histories = played.map(({ history }) => history);
    const [inPython, overRpc] = await Promise.all([
      reference(["views", server.url, server.token, ...Object.keys(views)]),
      reference(["fold"], histories),
    ]);
    expect(views).toStrictEqual(inPython);
    expect(played.map(({ overRpc }) => overRpc)).toStrictEqual(overRpc);
  });
});
