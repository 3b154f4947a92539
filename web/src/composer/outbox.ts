// Messages that the server has not accepted yet. They are stored in the browser, so that they
// survive a reload. They are resent under the same id, so that they are executed once.
import type { SentContent } from "@turnwire/client";
import type { useTurnwire } from "@turnwire/react";
import { readStored, store, storedNames } from "../app/browserStorage";
import { OPTIONS } from "../talk/connectionOptions";
import { returnText } from "./drafts";

type Client = ReturnType<typeof useTurnwire>;

interface Letter {
  conversation: string;
  /** The idempotency key. */
  id: string;
  content: SentContent;
  /** Whether it goes into the running turn. */
  steer?: boolean;
}

const SENT = "sent:";
/** The messages that this page has already sent. */
const under = new Set<string>();

/**
 * Sends a message. Puts the text of a refused message back into the composer. Rejects as `send`
 * does.
 */
export function sendStoring(
  client: Client,
  conversation: string,
  content: SentContent,
  steer = false,
): Promise<void> {
  const letter = { conversation, id: newId(), content, ...(steer && { steer }) };
  const name = `${SENT}${Date.now()}:${letter.id}`;
  store(name, JSON.stringify(letter));
  return deliver(client, name, letter);
}

/** Sends the messages that an earlier page could not send, in their order. */
export function sendStored(client: Client, refused: (problem: unknown) => void): void {
  for (const name of storedNames(SENT)) {
    const letter = under.has(name) ? undefined : read(readStored(name));
    if (letter) deliver(client, name, letter).catch(refused);
  }
}

async function deliver(client: Client, name: string, letter: Letter): Promise<void> {
  under.add(name);
  const wasKept = readStored(name) !== null; // a browser may forbid storage
  const conversation = client.conversation(letter.conversation, OPTIONS);
  const letGo = conversation.hold(); // it may not be the conversation that is shown
  try {
    await conversation.send(letter.content, letter.id, letter.steer);
  } catch (problem) {
    const isMine = !wasKept || readStored(name) !== null; // otherwise another tab has taken the text
    if (isMine) returnText(letter.conversation, wordsIn(letter.content));
    throw problem;
  } finally {
    letGo();
    store(name, null);
    under.delete(name);
  }
}

function read(letter: string | null): Letter | undefined {
  try {
    const { conversation, id, content, steer } = JSON.parse(letter ?? "") as Letter;
    return { conversation, id, content, ...(steer && { steer }) };
  } catch {
    return undefined; // not written by this page
  }
}

/** Returns the text of a message. */
function wordsIn(content: SentContent): string {
  if (typeof content === "string") return content;
  return content.flatMap((each) => (each.type === "text" ? [each.text] : [])).join("\n");
}

/** `crypto.randomUUID` is missing in pages that were loaded without TLS. */
function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
