// Messages that were sent and not confirmed yet, marked as such.
import type { ClientFrame, MessageView, SentContent } from "@turnwire/client";
import { useWords } from "../app/language";
import { VisibleText } from "../markdown/VisibleText";

interface Sent {
  id: string;
  content: SentContent;
}

export function unconfirmedIn(unanswered: readonly ClientFrame[], messages: readonly MessageView[]): Sent[] {
  const sent = unanswered.flatMap((frame) =>
    frame.type === "user.message"
      ? [{ id: frame.client_message_id ?? "", content: frame.payload.content as SentContent }]
      : [],
  );
  if (!sent.length) return sent;
  const here = new Set(messages.slice(-20).map((message) => message.client_message_id));
  return sent.filter((each) => !here.has(each.id));
}

export function textOf(content: SentContent | undefined): string {
  if (content === undefined || typeof content === "string") return content ?? "";
  return content.map((each) => (each.type === "text" ? each.text : `[${each.type}]`)).join("\n");
}

export function UnconfirmedMessage({ content }: { content: SentContent | undefined }) {
  const words = useWords();
  return (
    <div className="place">
      <article className="row said pending">
        <div className="bubble" dir="auto">
          <p>
            <VisibleText text={textOf(content)} />
          </p>
          <small>{words.sending}</small>
        </div>
      </article>
    </div>
  );
}
