import { useTurnwire } from "@turnwire/client/react";
import { useState } from "react";
import { forgetDrafts } from "../acting/drafts";
import { tellChange } from "../app/changes";
import { save } from "../app/files";
import { MenuItem } from "../app/Menu";
import { useNotices } from "../app/Notices";
import { go } from "../app/places";
import { useWords } from "../app/words";
import { useArchive } from "./archive";
import { useConversations } from "./store";

/** The actions on a whole conversation. */
export function TalkMenu({
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
  const { trying, say } = useNotices();
  const { refresh } = useConversations();
  const setArchived = useArchive();
  const [isSure, setSure] = useState(false);
  const path = `/api/conversations/${encodeURIComponent(id)}`;

  const archive = async () => {
    close();
    if ((await setArchived(id, !archived)) && !archived) go({ name: "home" });
  };
  const remove = async () => {
    close();
    const done = await trying(client.request("DELETE", path).then(() => true));
    if (!done) return;
    forgetDrafts(id);
    say(words.deletedIt(title ?? words.untitled()), "calm");
    go({ name: "home" });
    tellChange();
    await refresh();
  };
  const saveAs = (format: "jsonl" | "markdown") => {
    close();
    void trying(save(`${path.slice(1)}/export?format=${format}`));
  };
  if (isSure) {
    return (
      <>
        <p className="sure">{words.sure}</p>
        <MenuItem icon="bin" isBad onClick={() => void remove()}>
          {words.deleteForGood}
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
        {words.exportIt}
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
