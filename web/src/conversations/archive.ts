// Archives conversations, and restores them.
import { useTurnwire } from "@turnwire/react";
import { useCallback } from "react";
import { useWords } from "../app/language";
import { useNotices } from "../app/Notices";
import { addressOf, goTo } from "../app/navigation";
import { notifyChange } from "../app/serverChanges";
import { useConversations } from "./conversationList";

/** Archives a conversation and offers to undo it, or restores it. Returns whether it succeeded. */
export function useArchive(): (id: string, archived: boolean) => Promise<boolean> {
  const words = useWords();
  const client = useTurnwire();
  const { showingRefusal, showNotice } = useNotices();
  const { refresh } = useConversations();
  return useCallback(
    async function archive(id, archived): Promise<boolean> {
      const path = `/api/conversations/${encodeURIComponent(id)}`;
      if ((await showingRefusal(client.request("PATCH", path, { archived }))) === undefined) return false;
      const talk = addressOf({ name: "talk", id });
      const wasHere = location.pathname === talk; // the page leaves it
      const undo = async () => {
        if ((await archive(id, false)) && wasHere) goTo({ name: "talk", id });
      };
      if (archived) showNotice(words.archivedIt, "calm", { label: words.undo, run: () => void undo() });
      else showNotice(words.reopened, "calm", { label: words.undo, run: () => void archive(id, true) });
      notifyChange();
      void refresh();
      return true;
    },
    [client, showingRefusal, showNotice, refresh, words],
  );
}
