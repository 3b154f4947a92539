import { useTurnwire } from "@turnwire/client/react";
import { useState } from "react";
import { saveFile } from "../app/files";
import { useWords } from "../app/language";
import { MenuItem } from "../app/Menu";
import { useNotices } from "../app/Notices";
import { goTo } from "../app/navigation";
import { notifyChange } from "../app/serverChanges";
import { deleteDrafts } from "../composer/drafts";
import { useArchive } from "./archive";
import { useConversations } from "./conversationList";

/** The actions on a whole conversation. */
export function ConversationMenu({
  id,
  archived,
  title,
  close,
}: {
  id: string;
  archived: boolean;
  title: string | undefined;
  close: () => void;
}) {
  const words = useWords();
  const client = useTurnwire();
  const { showingRefusal, showNotice } = useNotices();
  const { refresh } = useConversations();
  const setArchived = useArchive();
  const [isSure, setSure] = useState(false);
  const path = `/api/conversations/${encodeURIComponent(id)}`;

  const archive = async () => {
    close();
    if ((await setArchived(id, !archived)) && !archived) goTo({ name: "home" });
  };
  const remove = async () => {
    close();
    const done = await showingRefusal(client.request("DELETE", path).then(() => true));
    if (!done) return;
    deleteDrafts(id);
    showNotice(words.deletedIt(title ?? words.untitled()), "calm");
    goTo({ name: "home" });
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
