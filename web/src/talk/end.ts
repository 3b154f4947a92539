// Whether the newest stays in sight: until somebody scrolls up, however little, and again from the end on.
import { type RefObject, useCallback, useEffect, useRef, useState } from "react";

/** So near to it is at the end. */
const NEAR = 60;

interface End {
  /** Somebody reads further up, and the end is out of sight. */
  isAway: boolean;
  isStuck: RefObject<boolean>;
  /** Sees where one is. */
  look: () => void;
  /** Goes to the end, and stays there. */
  stick: () => void;
  /** Stays where one is. */
  letGo: () => void;
}

/** The end of what is scrolled in `section`. */
export function useEnd(section: RefObject<HTMLElement | null>, isStuckFirst: boolean): End {
  const isStuck = useRef(isStuckFirst);
  const isPressed = useRef(false); // somebody holds the scroll bar
  const isOpened = useRef(false); // somebody has opened or closed something, and not scrolled since
  const seen = useRef({ top: 0, height: 0, room: 0 });
  const [isAway, setAway] = useState(false);
  const look = useCallback(() => {
    const scroller = scrollerIn(section);
    if (!scroller) return;
    const { scrollTop: top, scrollHeight: height, clientHeight: room } = scroller;
    const went = top - seen.current.top;
    const left = leftIn(scroller);
    // A list that measures its rows goes up by itself, and one that gets more room is moved up by the browser. But then
    // its height, or its room, is another.
    const isSame = height === seen.current.height && room === seen.current.room;
    const isByHand = isPressed.current || isSame;
    if (went > 0 && left < NEAR) isStuck.current = true;
    else if (went < -2 && left > 2 && isByHand) isStuck.current = false;
    seen.current = { top, height, room };
    setAway(!isStuck.current && left >= NEAR);
  }, [section]);
  const letGo = useCallback(() => {
    isStuck.current = false;
    isOpened.current = false;
  }, []);
  // Not the list's own way, which goes there again and again for a while, whoever scrolls meanwhile.
  const stick = useCallback(() => {
    isStuck.current = true;
    const scroller = scrollerIn(section);
    if (!scroller) return;
    scroller.scrollTop = scroller.scrollHeight;
    // So that nobody is taken to have scrolled.
    const { scrollTop: top, scrollHeight: height, clientHeight: room } = scroller;
    seen.current = { top, height, room };
    setAway(false);
  }, [section]);

  // What was drawn may still grow: pictures come, rows are measured.
  useEffect(() => {
    const scroller = scrollerIn(section);
    if (!scroller) return;
    const observer = new ResizeObserver(() => {
      if (isStuck.current) return stick();
      if (!isOpened.current) return;
      if (leftIn(scroller) <= 2) isStuck.current = true; // the end is still in sight
      look();
    });
    for (const each of [scroller, ...scroller.children]) observer.observe(each);
    return () => observer.disconnect();
  }, [section, stick, look]);

  // A form below opens and closes, or a phone shows its keyboard: each changes the room, and two of them can come before
  // the browser tells that it has scrolled. So the end is kept at each of them.
  useEffect(() => {
    const keep = () => isStuck.current && stick();
    const observer = new MutationObserver(keep);
    const dock = section.current?.parentElement?.querySelector(".dock");
    if (dock) observer.observe(dock, { childList: true, subtree: true, attributes: true });
    window.addEventListener("resize", keep);
    return () => {
      observer.disconnect();
      window.removeEventListener("resize", keep);
    };
  }, [section, stick]);

  // Who begins to scroll has not come far yet when the answer grows: the hand counts, not the place.
  useEffect(() => {
    const scroller = scrollerIn(section);
    if (!scroller) return;
    const up = () => {
      if (scroller.scrollTop > 0) letGo();
    };
    const down = () => {
      if (leftIn(scroller) <= 2) isStuck.current = true;
    };
    const wheel = ({ deltaX, deltaY, ctrlKey, target }: WheelEvent) => {
      const isOther = ctrlKey || Math.abs(deltaX) > Math.abs(deltaY); // it is made larger, or moved sideways
      if (isOther || !deltaY || movesWithin(target, scroller, deltaY)) return;
      if (deltaY < 0) up();
      else down();
    };
    // What somebody opens or closes stays under their hand.
    const open = ({ target }: MouseEvent) => {
      if (!(target as Element).closest(OPENS)) return;
      letGo();
      isOpened.current = true;
    };
    const key = ({ key, shiftKey }: KeyboardEvent) => (UP.has(key) || (key === " " && shiftKey)) && up();
    const press = ({ target }: PointerEvent) => {
      isPressed.current = target === scroller; // not one of its rows
    };
    const release = ({ buttons }: PointerEvent) => {
      if (!buttons) isPressed.current = false;
    };
    const ended = new AbortController();
    const options = { passive: true, signal: ended.signal };
    scroller.addEventListener("wheel", wheel, options);
    scroller.addEventListener("keydown", key, options);
    scroller.addEventListener("click", open, options);
    scroller.addEventListener("touchmove", up, options);
    scroller.addEventListener("touchend", down, options);
    scroller.addEventListener("pointerdown", press, options);
    // Nobody is told when a scroll bar is let go of, but for the next move.
    for (const each of ["pointerup", "pointermove"] as const) window.addEventListener(each, release, options);
    return () => ended.abort();
  }, [section, letGo]);

  return { isAway, isStuck, look, stick, letGo };
}

const UP = new Set(["ArrowUp", "PageUp", "Home"]);
const OPENS = "summary, .show-all";

/** Whether something in it that scrolls by itself takes this movement. */
function movesWithin(target: EventTarget | null, scroller: HTMLElement, by: number): boolean {
  for (let each = target as Element | null; each && each !== scroller; each = each.parentElement) {
    const left = each.scrollHeight - each.clientHeight - each.scrollTop;
    if (/auto|scroll/.test(getComputedStyle(each).overflowY) && (by < 0 ? each.scrollTop > 0 : left > 1))
      return true;
  }
  return false;
}

const scrollerIn = (section: RefObject<HTMLElement | null>): HTMLElement | null | undefined =>
  section.current?.querySelector<HTMLElement>(".scroller");

const leftIn = (scroller: HTMLElement): number =>
  scroller.scrollHeight - scroller.clientHeight - scroller.scrollTop;
