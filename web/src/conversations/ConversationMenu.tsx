import type { ConversationInfo } from "@turnwire/client";
import { useTurnwire } from "@turnwire/client/react";
import { useState } from "react";
import { saveFile } from "../app/files";
import { useWords } from "../app/language";
import { MenuItem } from "../app/Menu";
import { useNotices } from "../app/Notices";
import { goTo } from "../app/navigation";
import { notifyChange } from "../app/serverChanges";
import { deleteDrafts } from "../composer/drafts";
import { printConversation } from "../talk/printing";
import { useArchive } from "./archive";
import { showDialog } from "./conversationDialogs";
import { useConversations } from "./conversationList";

interface Props {
  id: string;
  /** What the list knows of it; undefined: not yet. */
  info: ConversationInfo | undefined;
  title: string | undefined;
  /** Whether the page shows it: then another page follows when it is gone. */
  isHere: boolean;
  close: () => void;
}

/** The actions on a whole conversation. */
export function ConversationMenu({ id, info, title, isHere, close }: Props) {
  const words = useWords();
  const client = useTurnwire();
  const { showingRefusal, showNotice } = useNotices();
  const { refresh } = useConversations();
  const setArchived = useArchive();
  const [isSure, setSure] = useState(false);
  const archived = info?.archived === true;
  const path = `/api/conversations/${encodeURIComponent(id)}`;

  const archive = async () => {
    close();
    if ((await setArchived(id, !archived)) && !archived && isHere) goTo({ name: "home" });
  };
  const remove = async () => {
    close();
    const done = await showingRefusal(client.request("DELETE", path).then(() => true));
    if (!done) return;
    deleteDrafts(id);
    showNotice(words.deletedIt(title ?? words.untitled()), "calm");
    if (isHere) goTo({ name: "home" });
    notifyChange();
    await refresh();
  };
  const pin = async () => {
    close();
    await showingRefusal(client.request("PATCH", path, { pinned: !info?.pinned }));
    notifyChange();
    await refresh();
  };
  const saveAs = (format: "jsonl" | "markdown") => {
    close();
    void showingRefusal(saveFile(`${path.slice(1)}/export?format=${format}`));
  };
  if (isSure) {
    return (
      <>
        <p className="sure">{words.deleteWarning}</p>
        <MenuItem icon="bin" isBad onClick={() => void remove()}>
          {words.deletePermanently}
        </MenuItem>
        <MenuItem icon="cross" autoFocus onClick={close}>
          {words.back}
        </MenuItem>
      </>
    );
  }
  return (
    <>
      {!archived && (
        <MenuItem icon="pin" onClick={() => void pin()}>
          {info?.pinned ? words.unpin : words.pin}
        </MenuItem>
      )}
      <MenuItem
        icon="tag"
        onClick={() => {
          close();
          showDialog("labels", id);
        }}
      >
        {words.labels.open}
      </MenuItem>
      {isHere && (
        <MenuItem
          icon="printer"
          onClick={() => {
            close();
            printConversation();
          }}
        >
          {words.print}
        </MenuItem>
      )}
      <MenuItem
        icon="link"
        onClick={() => {
          close();
          showDialog("shares", id);
        }}
      >
        {words.share.open}
      </MenuItem>
      <MenuItem
        icon="shield"
        onClick={() => {
          close();
          showDialog("rules", id);
        }}
      >
        {words.givenRules.open}
      </MenuItem>
      <MenuItem icon="download" onClick={() => saveAs("markdown")}>
        {words.exportMarkdown}
      </MenuItem>
      <MenuItem icon="download" onClick={() => saveAs("jsonl")}>
        {words.exportJsonl}
      </MenuItem>
      <MenuItem icon="archive" onClick={() => void archive()}>
        {archived ? words.reopen : words.archive}
      </MenuItem>
      <MenuItem icon="bin" isBad onClick={() => setSure(true)}>
        {words.delete}
      </MenuItem>
    </>
  );
}
