// Stands in for the server: answers requests and sockets of the page from the states of the gallery.
import { AGENTS, DIRECTORIES, layersOf, placesOf, RESULTS, RULES, SHARES } from "./fixtures";
import { at, type Frame } from "./script";
import { STATES, type State } from "./states";

/**
 * What the whole page is in: no requests wait (`empty`), no request is answered (`slow`), the server
 * cannot be reached (`down`), or the person is not signed in (`guest`).
 */
const mode = new URLSearchParams(location.search).get("gallery");

/** The close code of a conversation that is missing, archived or deleted. */
const CLOSED = 4504;

/** The agent of all conversations. */
const AGENT = "claude";

/** As the server does it. */
function activityOf({ script }: State): string {
  const { state, turn_id, background_tasks } = script.status as Record<string, unknown>;
  if (["waiting_input", "interrupted", "error"].includes(String(state))) return String(state);
  const isWorking =
    state === "streaming" ||
    typeof turn_id === "number" ||
    (background_tasks as unknown[] | undefined)?.length;
  return isWorking ? "working" : "idle";
}

function infoOf({ id, title, script, archived, labels, pinned }: State) {
  const place = STATES.findIndex((each) => each.id === id);
  return {
    id,
    agent: AGENT,
    created_at: at(0),
    updated_at: at(3600 - place), // the list has the order of the states
    head: 1,
    status: script.status,
    title,
    cwd: "/home/ann/birds",
    archived,
    labels,
    pinned,
  };
}

function refusal(status: number, code: string, message: string): Response {
  return Response.json({ error: { code, message, retryable: false } }, { status });
}

/** What a share link opens. Its other secrets are those of links that have ended. */
const SHARED = "whole";

function sharedAnswer(path: string, secret: string | undefined): Response {
  const found = STATES.find((each) => each.id === "message-whole-answer");
  if (secret !== SHARED || !found) return refusal(404, "SHARE_NOT_FOUND", "This link has ended.");
  if (path === "/api/shared/messages") return Response.json({ messages: found.script.log });
  return Response.json({ title: found.title, agent: "claude", expires_at: at(86_400) });
}

function answerTo(path: string, query: URLSearchParams, token: string | undefined): Response {
  if (path.startsWith("/api/shared")) return sharedAnswer(path, token);
  if (mode === "guest") return refusal(401, "UNAUTHORIZED", "You are not signed in.");
  const [, id, rest] = /^\/api\/conversations\/([^/]+)(\/.*)?$/.exec(path) ?? [];
  if (id !== undefined) {
    const found = STATES.find((each) => each.id === decodeURIComponent(id));
    if (!found) return refusal(404, "CONVERSATION_NOT_FOUND", "This conversation does not exist.");
    if (rest === "/messages") return Response.json({ messages: found.script.log });
    if (rest?.startsWith("/messages/"))
      return Response.json(layersOf(found.script, Number(rest.split("/").pop())));
    if (rest === "/shares") return Response.json({ shares: SHARES });
    if (rest === "/rules") return Response.json({ rules: RULES });
    if (rest?.endsWith("/places")) return Response.json({ places: placesOf(found.script) });
    if (rest !== undefined) return refusal(404, "NOT_SUPPORTED", "The gallery has no server.");
    return Response.json(infoOf(found));
  }
  switch (path) {
    case "/api/conversations": {
      const is = (name: string) => query.get(name);
      const shown = STATES.filter(
        (each) =>
          (is("archived") === null || String(each.archived === true) === is("archived")) &&
          (is("pinned") === null || String(each.pinned === true) === is("pinned")) &&
          (is("agent") === null || is("agent") === AGENT) &&
          (is("label") === null || each.labels?.includes(is("label") ?? "")) &&
          (is("activity") === null || activityOf(each) === is("activity")),
      );
      const from = Number(query.get("offset") ?? 0);
      const to = from + Number(query.get("limit") ?? 50);
      return Response.json({ conversations: shown.slice(from, to).map(infoOf) });
    }
    case "/api/inbox": {
      const items = STATES.flatMap(({ id, script }) =>
        (script.status.requests as { request_id: string }[]).map((request) => ({
          inbox_item_id: `in-${id}-${request.request_id}`,
          conversation_id: id,
          request,
          created_at: script.frames.at(-1)?.timestamp,
        })),
      );
      return Response.json({ items: mode === "empty" ? [] : items });
    }
    case "/api/agents":
      return Response.json({ agents: AGENTS });
    case "/api/directories/files":
      return Response.json({ files: ["src/birds.py", "docs/harbour.md"], complete: true });
    case "/api/directories":
      return Response.json(DIRECTORIES);
    case "/api/rules":
      return Response.json({ rules: RULES });
    case "/api/me":
      return Response.json({
        name: "ann",
        is_owner: true,
        signed_in_by: "browser",
        since: "2026-03-01T08:00:00Z",
      });
    case "/api/search": {
      const hits = STATES.slice(0, 3).map(({ id, title }) => ({
        conversation_id: id,
        sequence: 1,
        title,
        snippet: "The herring gull is common",
        timestamp: "2026-03-02T10:00:00.000Z",
      }));
      return Response.json({ hits: query.get("q") === "nothing" ? [] : hits });
    }
    case "/api/changes":
      return new Response(new ReadableStream(), { headers: { "Content-Type": "text/event-stream" } });
    default:
      return refusal(404, "NOT_SUPPORTED", "The gallery has no server.");
  }
}

/** Sends the frames of a state, and then nothing. */
class GallerySocket {
  onopen?: () => void;
  onmessage?: (event: { data: string }) => void;
  onclose?: (event: { code: number }) => void;

  private readonly state: State | undefined;
  private sequence = 0;

  constructor(address: string) {
    const id = decodeURIComponent(new URL(address).pathname.split("/").pop() ?? "");
    this.state = STATES.find((each) => each.id === id);
    setTimeout(() => this.play(this.state));
  }

  /** Answers questions to the agent. Everything else stays unanswered, so that a state stays as it is. */
  send(text: string): void {
    const { type, client_message_id, payload } = JSON.parse(text) as {
      type: string;
      client_message_id?: string;
      payload?: { control?: string };
    };
    const answer = RESULTS[payload?.control ?? type];
    if (answer === undefined || this.state === undefined) return;
    const { id } = this.state;
    this.say({
      type: `${type}.ack`,
      conversation_id: id,
      turn_id: null,
      sequence: this.sequence + 1,
      timestamp: at(this.sequence + 1),
      trace_id: null,
      payload: { client_message_id, ...answer },
    });
  }

  close(): void {
    setTimeout(() => this.onclose?.({ code: 1000 }));
  }

  private play(state: State | undefined): void {
    if (state === undefined || state.ending === "closed") return this.onclose?.({ code: CLOSED });
    if (state.ending === "silent") return;
    if (isLost.has(state.id)) return this.onclose?.({ code: 1006 });
    this.onopen?.();
    for (const frame of state.script.frames) this.say(frame);
    if (state.ending !== "lost") return;
    isLost.add(state.id);
    setTimeout(() => this.onclose?.({ code: 1006 }), 100);
  }

  private say(frame: Frame): void {
    this.sequence = frame.sequence;
    this.onmessage?.({ data: JSON.stringify(frame) });
  }
}

/** The states whose connection was lost. */
const isLost = new Set<string>();

export function replaceServer(): void {
  for (const { id, context } of STATES) {
    const use = { turn: 1, total: context, most: 200_000, percent: (context ?? 0) / 2_000 };
    if (context !== undefined) localStorage.setItem(`turnwire:context:${id}`, JSON.stringify(use));
  }
  const real = globalThis.fetch;
  globalThis.fetch = async (input, init) => {
    const { pathname, searchParams, origin } = new URL(String(input), location.href);
    if (origin !== location.origin || !pathname.startsWith("/api/")) return real(input, init);
    if (mode === "down") throw new TypeError("Failed to fetch");
    if (mode === "slow") return new Promise(() => {});
    const token = new Headers(init?.headers).get("Authorization")?.replace("Bearer ", "");
    return answerTo(pathname, searchParams, token);
  };
  globalThis.WebSocket = GallerySocket as unknown as typeof WebSocket;
}
