// Makes characters visible that are invisible or change the order of others.
import { VisibleText as WithCodes } from "@turnwire/react";

export { escapeInvisible, hasInvisible } from "@turnwire/react";

export function VisibleText({ text }: { text: string }) {
  return <WithCodes text={text} className="unseen" />;
}
