// What was said and not yet taken. It is kept in the browser, so that it outlives the page, and sent
// again under the same id, so that it counts once.
import type { SentContent } from "@turnwire/client";
import type { useTurnwire } from "@turnwire/client/react";
import { keep, kept, namesOf } from "../app/kept";
import { OPTIONS } from "../talk/options";
import { giveBack } from "./drafts";

type Client = ReturnType<typeof useTurnwire>;

interface Letter {
  conversation: string;
  /** What the server knows it by. */
  id: string;
  content: SentContent;
}

const SENT = "sent:";
/** Those that this page has sent already. */
const under = new Set<string>();

/** Says something. What is refused goes back to where one writes. Rejects as `send` does. */
export function post(client: Client, conversation: string, content: SentContent): Promise<void> {
  const letter = { conversation, id: newId(), content };
  const name = `${SENT}${Date.now()}:${letter.id}`;
  keep(name, JSON.stringify(letter));
  return deliver(client, name, letter);
}

/** Sends what a page before this one could not, in its order. */
export function postKept(client: Client, refused: (problem: unknown) => void): void {
  for (const name of namesOf(SENT)) {
    const letter = under.has(name) ? undefined : read(kept(name));
    if (letter) deliver(client, name, letter).catch(refused);
  }
}

async function deliver(client: Client, name: string, letter: Letter): Promise<void> {
  under.add(name);
  const wasKept = kept(name) !== null; // a browser may forbid it
  const conversation = client.conversation(letter.conversation, OPTIONS);
  const letGo = conversation.hold(); // it need not be the one that is looked at
  try {
    await conversation.send(letter.content, letter.id);
  } catch (problem) {
    const isMine = !wasKept || kept(name) !== null; // else another tab has given it back
    if (isMine) giveBack(letter.conversation, wordsIn(letter.content));
    throw problem;
  } finally {
    letGo();
    keep(name, null);
    under.delete(name);
  }
}

function read(letter: string | null): Letter | undefined {
  try {
    const { conversation, id, content } = JSON.parse(letter ?? "") as Letter;
    return { conversation, id, content };
  } catch {
    return undefined; // somebody else's
  }
}

/** The words in what was said. */
function wordsIn(content: SentContent): string {
  if (typeof content === "string") return content;
  return content.flatMap((each) => (each.type === "text" ? [each.text] : [])).join("\n");
}

/** `crypto.randomUUID` is missing in pages that came without TLS. */
function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
