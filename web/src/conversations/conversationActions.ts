// The actions on a whole conversation, for its menu and for the command palette.
import type { ConversationInfo } from "@turnwire/client";
import { useTurnwire } from "@turnwire/react";
import type { PageAction } from "../app/actions";
import { saveFile } from "../app/files";
import { useWords } from "../app/language";
import { useNotices } from "../app/Notices";
import { goTo } from "../app/navigation";
import { notifyChange } from "../app/serverChanges";
import { printConversation } from "../talk/printing";
import { useArchive } from "./archive";
import { showDialog } from "./conversationDialogs";
import { useConversations } from "./conversationList";
import { useSelectionActions } from "./selection";
import { isUnread, markRead, markUnread, useShown } from "./unread";

export interface OneConversation {
  id: string;
  /** What the list knows of it; undefined: not yet. */
  info: ConversationInfo | undefined;
  title: string | undefined;
  /** Whether the page shows it: then another page follows when it is gone. */
  isHere: boolean;
}

export function useConversationActions({ id, info, title, isHere }: OneConversation): PageAction[] {
  const words = useWords();
  const client = useTurnwire();
  const { showingRefusal } = useNotices();
  const { refresh } = useConversations();
  const setArchived = useArchive();
  const { remove: removeAll } = useSelectionActions();
  const archived = info?.archived === true;
  const path = `/api/conversations/${encodeURIComponent(id)}`;

  const archive = async () => {
    if ((await setArchived(id, !archived)) && !archived && isHere) goTo({ name: "home" });
  };
  const remove = async () => {
    const text = words.deletedIt(title ?? words.untitled());
    const done = await removeAll([id], { text, undone: () => isHere && goTo({ name: "talk", id }) });
    if (done.length && isHere) goTo({ name: "home" });
  };
  const pin = async () => {
    await showingRefusal(client.request("PATCH", path, { pinned: !info?.pinned }));
    notifyChange();
    await refresh();
  };
  const saveAs = (format: "jsonl" | "markdown") =>
    void showingRefusal(saveFile(`${path.slice(1)}/export?format=${format}`));
  const pinning: PageAction = {
    name: "pin",
    label: info?.pinned ? words.unpin : words.pin,
    icon: "pin",
    run: () => void pin(),
  };
  const isNew = isUnread(useShown(), info);
  const reading: PageAction = {
    name: "unread",
    label: isNew ? words.markRead : words.markUnread,
    icon: "envelope",
    run: () => info && (isNew ? markRead([info]) : markUnread(info)),
  };
  const printing: PageAction = {
    name: "print",
    label: words.print,
    icon: "printer",
    run: printConversation,
  };
  return [
    ...(archived ? [] : [pinning]),
    { name: "labels", label: words.labels.open, icon: "tag", run: () => showDialog("labels", id) },
    ...(info ? [reading] : []),
    ...(isHere ? [printing] : []),
    { name: "share", label: words.share.open, icon: "link", run: () => showDialog("shares", id) },
    { name: "rules", label: words.givenRules.open, icon: "shield", run: () => showDialog("rules", id) },
    {
      name: "markdown",
      label: words.exportMarkdown,
      icon: "download",
      run: () => saveAs("markdown"),
    },
    { name: "jsonl", label: words.exportJsonl, icon: "download", run: () => saveAs("jsonl") },
    {
      name: "archive",
      label: archived ? words.reopen : words.archive,
      icon: "archive",
      run: () => void archive(),
    },
    { name: "delete", label: words.delete, icon: "bin", run: () => void remove() },
  ];
}
