// Browser notifications for open requests, if the person has enabled them.
import { useInbox } from "@turnwire/react";
import { useCallback, useEffect, useRef, useState } from "react";
import { useStored } from "../app/browserStorage";
import { useWords } from "../app/language";
import { useNotices } from "../app/Notices";
import { goTo } from "../app/navigation";
import { titleOf } from "./requestTitle";

export function useNotify() {
  const [kept, keep] = useStored("notify");
  const isPossible = "Notification" in globalThis && Notification.permission !== "denied";
  const isOn = kept === "yes" && isPossible && Notification.permission === "granted";
  const toggle = async () => {
    if (isOn) return keep(null);
    if ((await Notification.requestPermission()) === "granted") keep("yes");
  };
  const turnOff = useCallback(() => keep(null), [keep]);
  return { isPossible, isOn, toggle: () => void toggle(), turnOff };
}

/** Shows a notification once for each request, only while the page is hidden. */
export function useNotifications(): void {
  const words = useWords();
  const { items, isLoaded } = useInbox();
  const { isOn, turnOff } = useNotify();
  const { showNotice } = useNotices();
  const known = useRef<Set<string>>(undefined);
  const [shown] = useState(() => new Map<string, Notification>());
  useEffect(() => {
    if (!isLoaded) return;
    const before = known.current;
    known.current = new Set(items.map((item) => item.inbox_item_id));
    for (const [id, notification] of shown) {
      if (known.current.has(id)) continue;
      notification.close(); // the request was answered
      shown.delete(id);
    }
    if (!isOn || before === undefined || document.visibilityState === "visible") return;
    for (const item of items) {
      if (before.has(item.inbox_item_id)) continue;
      const notification = notify(words.waitsForYou, titleOf(item, words), item.inbox_item_id);
      if (!notification) {
        turnOff();
        showNotice(words.cannotNotify);
        return;
      }
      notification.onclick = () => {
        focus();
        goTo({ name: "talk", id: item.conversation_id });
      };
      shown.set(item.inbox_item_id, notification);
    }
  }, [items, isLoaded, isOn, shown, words, showNotice, turnOff]);
}

/** Mobile browsers have the class and the permission, but refuse notifications of a page. */
function notify(title: string, body: string, tag: string): Notification | undefined {
  try {
    return new Notification(title, { body, tag });
  } catch {
    return undefined;
  }
}
