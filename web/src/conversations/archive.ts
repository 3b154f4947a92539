// Archives conversations, and restores them.
import { useTurnwire } from "@turnwire/client/react";
import { useCallback } from "react";
import { tellChange } from "../app/changes";
import { useNotices } from "../app/Notices";
import { go } from "../app/places";
import { useWords } from "../app/words";
import { useConversations } from "./store";

/** Archives a conversation and offers to undo it, or restores it. Returns whether it succeeded. */
export function useArchive(): (id: string, archived: boolean) => Promise<boolean> {
  const words = useWords();
  const client = useTurnwire();
  const { trying, say } = useNotices();
  const { refresh } = useConversations();
  return useCallback(
    async function archive(id, archived): Promise<boolean> {
      const path = `/api/conversations/${encodeURIComponent(id)}`;
      if ((await trying(client.request("PATCH", path, { archived }))) === undefined) return false;
      const undo = async () => {
        if (await archive(id, false)) go({ name: "talk", id });
      };
      if (archived) say(words.archivedIt, "calm", { label: words.undo, run: () => void undo() });
      else say(words.reopened, "calm");
      tellChange();
      void refresh();
      return true;
    },
    [client, trying, say, refresh, words],
  );
}
