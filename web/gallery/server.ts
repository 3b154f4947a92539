// Stands in for the server: answers requests and sockets of the page from the states of the gallery.
import { at, CAPABILITIES } from "./script";
import { STATES, type State } from "./states";

/** What the whole page is in: no requests wait, or the person is not signed in. */
const mode = new URLSearchParams(location.search).get("gallery");

/** The close code of a conversation that is missing, archived or deleted. */
const CLOSED = 4504;

function infoOf({ id, title, script, archived, labels, pinned }: State) {
  const place = STATES.findIndex((each) => each.id === id);
  return {
    id,
    agent: "claude",
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

const AGENTS = [
  {
    name: "claude",
    description: "Claude Code, with its tools.",
    version: "2.1",
    abilities: [{ name: "fork", text: "conversations can be forked" }],
    ready: true,
    unavailable: null,
    default: true,
    capabilities: CAPABILITIES,
  },
  {
    name: "codex",
    description: "Codex, through its app-server.",
    version: null,
    abilities: [],
    ready: false,
    unavailable: "Codex is not installed. Install it: pip install turnwire[codex]",
    default: false,
    capabilities: { ...CAPABILITIES, agent: "codex" },
  },
];

function refusal(status: number, code: string, message: string): Response {
  return Response.json({ error: { code, message, retryable: false } }, { status });
}

function answerTo(path: string, query: URLSearchParams): Response {
  if (mode === "guest") return refusal(401, "UNAUTHORIZED", "You are not signed in.");
  const [, id, rest] = /^\/api\/conversations\/([^/]+)(\/.*)?$/.exec(path) ?? [];
  if (id !== undefined) {
    const found = STATES.find((each) => each.id === decodeURIComponent(id));
    if (!found) return refusal(404, "CONVERSATION_NOT_FOUND", "This conversation does not exist.");
    if (rest === "/messages") return Response.json({ messages: found.script.log });
    return Response.json(infoOf(found));
  }
  switch (path) {
    case "/api/conversations": {
      const is = (name: "archived" | "pinned") => query.get(name);
      const shown = STATES.filter(
        (each) =>
          (is("archived") === null || String(each.archived === true) === is("archived")) &&
          (is("pinned") === null || String(each.pinned === true) === is("pinned")),
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

  constructor(address: string) {
    const id = decodeURIComponent(new URL(address).pathname.split("/").pop() ?? "");
    setTimeout(() => this.play(STATES.find((each) => each.id === id)));
  }

  send(): void {}

  close(): void {
    setTimeout(() => this.onclose?.({ code: 1000 }));
  }

  private play(state: State | undefined): void {
    if (state === undefined || state.ending === "closed") return this.onclose?.({ code: CLOSED });
    if (isLost.has(state.id)) return this.onclose?.({ code: 1006 });
    this.onopen?.();
    for (const frame of state.script.frames) this.onmessage?.({ data: JSON.stringify(frame) });
    if (state.ending !== "lost") return;
    isLost.add(state.id);
    setTimeout(() => this.onclose?.({ code: 1006 }), 100);
  }
}

/** The states whose connection was lost. */
const isLost = new Set<string>();

export function replaceServer(): void {
  const real = globalThis.fetch;
  globalThis.fetch = async (input, init) => {
    const { pathname, searchParams, origin } = new URL(String(input), location.href);
    if (origin !== location.origin || !pathname.startsWith("/api/")) return real(input, init);
    return answerTo(pathname, searchParams);
  };
  globalThis.WebSocket = GallerySocket as unknown as typeof WebSocket;
}
