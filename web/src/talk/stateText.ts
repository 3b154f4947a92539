// The state of a conversation, as text.
import type { Snapshot, Status } from "@turnwire/client";
import type { Words } from "../words/en";

/** The colour of the dot before the text. */
export type Tone = "calm" | "busy" | "asks" | "stopped" | "failed";

/** `line`: why the state is unknown; absent: connected. */
export function stateText(
  status: Status | undefined,
  words: Words,
  line?: "offline" | "unknown",
): { tone: Tone; text: string } {
  if (line) return { tone: "calm", text: words.state[line] };
  if (!status) return { tone: "calm", text: words.state.unknown };
  switch (status.state) {
    case "waiting_input":
      return { tone: "asks", text: words.state.waiting_input };
    case "streaming":
      return { tone: "busy", text: words.state.streaming };
    case "interrupted":
      return { tone: "stopped", text: words.state.interrupted };
    case "error":
      return { tone: "failed", text: words.state.error };
    default:
      if (status.turn_id !== undefined)
        return { tone: "busy", text: status.running ? words.state.streaming : words.state.asleep };
      return status.background_tasks?.length
        ? { tone: "busy", text: words.state.background }
        : { tone: "calm", text: words.state.active };
  }
}

/** Returns the state of the connection; undefined if it is fine. */
export function connectionText(snapshot: Snapshot, isOnline: boolean, words: Words): string | undefined {
  if (snapshot.connection === "closed") return words.connection.closed;
  if (!isOnline) return words.connection.offline;
  if (snapshot.connection === "catching_up") return words.connection.catchingUp;
  if (snapshot.connection !== "connected")
    return snapshot.view.cursor ? words.connection.lost : words.connection.connecting;
  return undefined;
}
