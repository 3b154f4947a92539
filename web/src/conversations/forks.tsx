// Forks: conversations that start with the log of another one.
import type { ConversationInfo } from "@turnwire/client";
import { useWords } from "../app/language";
import { linkTo } from "../app/navigation";
import { VisibleText } from "../markdown/VisibleText";
import type { Words } from "../words/en";
import { useInfo } from "./conversationList";

/** The original of a fork; undefined: it is no fork, or its original was deleted. */
export function useOriginal(info: ConversationInfo | undefined): ConversationInfo | undefined {
  return useInfo(info?.forked_from?.id);
}

/** The name of a conversation. A fork has the title of its original, marked as a fork. */
export function nameOf(
  title: string | undefined,
  info: ConversationInfo | undefined,
  original: ConversationInfo | undefined,
  words: Words,
): string {
  if (original === undefined) return title ?? words.untitled(info?.created_at);
  const isRenamed = title !== undefined && title !== original.title;
  return isRenamed ? title : words.forkOf(original.title ?? words.untitled(original.created_at));
}

/** A link to the original of a fork. Nothing for any other conversation. */
export function Original({ info }: { info: ConversationInfo | undefined }) {
  const words = useWords();
  const original = useOriginal(info);
  if (!info?.forked_from) return null;
  if (!original) return <span className="original">{words.fork}</span>;
  return (
    <a className="original" {...linkTo({ name: "talk", id: original.id })}>
      <VisibleText text={words.original(original.title ?? words.untitled(original.created_at))} />
    </a>
  );
}
