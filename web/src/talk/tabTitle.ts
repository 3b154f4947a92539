import type { Status } from "@turnwire/client";
import { useEffect } from "react";

const PAGE = "Turnwire";
let place = PAGE;
let unread = 0;

function draw(): void {
  document.title = (unread ? `(${unread}) ` : "") + place;
}

/** Sets the title of the tab: the name of the conversation, and whether it has open requests. */
export function useTitle(name: string, status: Status | undefined): void {
  const mark = status?.requests.length ? "● " : "";
  useEffect(() => {
    place = `${mark}${name} · ${PAGE}`;
    draw();
    return () => {
      place = PAGE;
      draw();
    };
  }, [name, mark]);
}

/** Puts the number of unread conversations before the title. */
export function useUnreadTitle(count: number): void {
  useEffect(() => {
    unread = count;
    draw();
    return () => {
      unread = 0;
      draw();
    };
  }, [count]);
}
