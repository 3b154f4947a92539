// Messages that were sent and not confirmed yet, marked as such.
import type { SentContent } from "@turnwire/client";
import { useWords } from "../app/language";
import { VisibleText } from "../markdown/VisibleText";

export { unconfirmedIn } from "@turnwire/react";

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
