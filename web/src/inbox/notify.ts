// Browser notifications for what waits for a person, if they have said that they want them.
import { useInbox } from "@turnwire/client/react";
import { useEffect, useRef, useState } from "react";
import { useKept } from "../app/kept";
import { go } from "../app/places";
import { useWords } from "../app/words";
import { titleOf } from "./titles";

export function useNotify() {
  const [kept, keep] = useKept("notify");
  const isPossible = "Notification" in globalThis && Notification.permission !== "denied";
  const isOn = kept === "yes" && isPossible && Notification.permission === "granted";
  const toggle = async () => {
    if (isOn) return keep(null);
    if ((await Notification.requestPermission()) === "granted") keep("yes");
  };
  return { isPossible, isOn, toggle: () => void toggle() };
}

/** Tells of each request once, and only where nobody looks at the page. */
export function useNotifications(): void {
  const words = useWords();
  const { items, isLoaded } = useInbox();
  const { isOn } = useNotify();
  const known = useRef<Set<string>>(undefined);
  const [shown] = useState(() => new Map<string, Notification>());
  useEffect(() => {
    if (!isLoaded) return;
    const before = known.current;
    known.current = new Set(items.map((item) => item.inbox_item_id));
    for (const [id, notification] of shown) {
      if (known.current.has(id)) continue;
      notification.close(); // somebody has answered
      shown.delete(id);
    }
    if (!isOn || before === undefined || document.visibilityState === "visible") return;
    for (const item of items) {
      if (before.has(item.inbox_item_id)) continue;
      const notification = new Notification(words.waitsForYou, {
        body: titleOf(item, words),
        tag: item.inbox_item_id,
      });
      notification.onclick = () => {
        focus();
        go({ name: "talk", id: item.conversation_id });
      };
      shown.set(item.inbox_item_id, notification);
    }
  }, [items, isLoaded, isOn, shown, words]);
}
