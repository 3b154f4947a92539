// Actions on one or several conversations at once, each of which can be undone.
import { pageHeaders } from "@turnwire/client";
import { useTurnwire } from "@turnwire/react";
import { useCallback } from "react";
import { useWords } from "../app/language";
import { useNotices } from "../app/Notices";
import { notifyChange } from "../app/serverChanges";
import { deleteDrafts } from "../composer/drafts";
import { useConversations } from "./conversationList";
import { forgetShown } from "./unread";

/** Milliseconds until a deletion is carried out, unless its notice is dismissed. As long as the notice is shown. */
const LATER = 20_000;
/** Deletions that wait. A page that is closed carries them out at once. */
const waiting = new Map<string, { timer: ReturnType<typeof setTimeout>; run: () => void }>();
addEventListener("pagehide", () => {
  for (const { run } of [...waiting.values()]) run();
});

const pathOf = (id: string) => `/api/conversations/${encodeURIComponent(id)}`;

/** Calls off a deletion that waits. */
function keep(id: string): void {
  clearTimeout(waiting.get(id)?.timer);
  waiting.delete(id);
}

/** Deletes a conversation later. Until then, and if it is refused, the conversation is in the archive. */
function deleteLater(id: string, done: () => void): void {
  keep(id);
  const run = () => {
    keep(id);
    deleteDrafts(id);
    forgetShown(id);
    const address = document.baseURI.replace(/\/$/, "") + pathOf(id);
    // It has to outlive the page.
    const how = { method: "DELETE", headers: pageHeaders(document.baseURI), keepalive: true };
    fetch(address, how).then(done, () => {});
  };
  waiting.set(id, { timer: setTimeout(run, LATER), run });
}

interface Selection {
  archive: (ids: string[], archived: boolean) => Promise<void>;
  /** Deletes conversations, which can be undone for a while. Returns those that are in the archive until then. */
  remove: (ids: string[], told?: Told) => Promise<string[]>;
}

interface Told {
  /** What the notice says. */
  text: string;
  undone: () => void;
}

export function useSelectionActions(): Selection {
  const words = useWords();
  const client = useTurnwire();
  const { showingRefusal, showNotice } = useNotices();
  const { refresh } = useConversations();

  const set = useCallback(
    async (ids: string[], archived: boolean): Promise<string[]> => {
      const done: string[] = [];
      for (const id of ids)
        if ((await showingRefusal(client.request("PATCH", pathOf(id), { archived }))) !== undefined)
          done.push(id);
      notifyChange();
      await refresh();
      return done;
    },
    [client, showingRefusal, refresh],
  );
  const archive = async (ids: string[], archived: boolean) => {
    const done = await set(ids, archived);
    if (!done.length) return;
    const { selecting } = words;
    showNotice((archived ? selecting.archived : selecting.reopened)(done.length), "calm", {
      label: words.undo,
      run: () => void set(done, !archived),
    });
  };
  const remove = async (ids: string[], told?: Told) => {
    const wasArchived = new Set<string>();
    for (const id of ids) {
      const info = await showingRefusal(client.request<{ archived?: boolean }>("GET", pathOf(id)));
      if (info?.archived) wasArchived.add(id);
    }
    const done = await set(ids, true);
    for (const id of done)
      deleteLater(id, () => {
        notifyChange();
        void refresh();
      });
    if (!done.length) return done;
    const undo = async () => {
      for (const id of done) keep(id);
      await set(
        done.filter((id) => !wasArchived.has(id)),
        false,
      );
      told?.undone();
    };
    showNotice(told?.text ?? words.selecting.deleted(done.length), "calm", {
      label: words.undo,
      run: () => void undo(),
      dismissed: () => {
        for (const id of done) waiting.get(id)?.run();
      },
    });
    return done;
  };
  return { archive, remove };
}
