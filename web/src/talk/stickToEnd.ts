// Keeps the end in view: until the person scrolls up, even a little, and again after they reach the
// end.
import { type RefObject, useCallback, useEffect, useRef, useState } from "react";

/** Pixels from the end that count as the end. */
const NEAR = 60;

interface End {
  /** Whether the person reads further up, and the end is not visible. */
  isAway: boolean;
  isStuck: RefObject<boolean>;
  /** Updates the position. */
  updatePosition: () => void;
  /** Goes to the end, and stays there. */
  stick: () => void;
  /** Stays at the current position. */
  stayHere: () => void;
}

/** Follows the end of the scroller in `section`. */
export function useStickToEnd(section: RefObject<HTMLElement | null>, isStuckFirst: boolean): End {
  const isStuck = useRef(isStuckFirst);
  const isPressed = useRef(false); // the person holds the scroll bar
  const isOpened = useRef(false); // the person has opened or closed an element, and not scrolled since
  const seen = useRef({ top: 0, height: 0, room: 0 });
  const [isAway, setAway] = useState(false);
  const updatePosition = useCallback(() => {
    const scroller = scrollerIn(section);
    if (!scroller) return;
    const { scrollTop: top, scrollHeight: height, clientHeight: room } = scroller;
    const went = top - seen.current.top;
    const left = leftIn(scroller);
    // The list scrolls up when it measures rows, and the browser does when the list gets more
    // space. In both cases the height or the space has changed.
    const isSame = height === seen.current.height && room === seen.current.room;
    const isByHand = isPressed.current || isSame;
    if (went > 0 && left < NEAR) isStuck.current = true;
    else if (went < -2 && left > 2 && isByHand) isStuck.current = false;
    seen.current = { top, height, room };
    setAway(!isStuck.current && left >= NEAR);
  }, [section]);
  const stayHere = useCallback(() => {
    isStuck.current = false;
    isOpened.current = false;
  }, []);
  // Not the list's own method, which repeats for a while, even if the person scrolls meanwhile.
  const stick = useCallback(() => {
    isStuck.current = true;
    const scroller = scrollerIn(section);
    if (!scroller) return;
    scroller.scrollTop = scroller.scrollHeight;
    // So that this scrolling does not count as the person's.
    const { scrollTop: top, scrollHeight: height, clientHeight: room } = scroller;
    seen.current = { top, height, room };
    setAway(false);
  }, [section]);

  // Rows may still grow: images load, rows are measured.
  useEffect(() => {
    const scroller = scrollerIn(section);
    if (!scroller) return;
    const observer = new ResizeObserver(() => {
      if (isStuck.current) return stick();
      // A conversation that opens at its beginning gets no event of scrolling, but it gets its height.
      if (!isOpened.current) return setAway(leftIn(scroller) >= NEAR);
      if (leftIn(scroller) <= 2) isStuck.current = true; // the end is still visible
      updatePosition();
    });
    for (const each of [scroller, ...scroller.children]) observer.observe(each);
    return () => observer.disconnect();
  }, [section, stick, updatePosition]);

  // A form opens or closes, or a phone shows its keyboard: each changes the space, and two changes
  // can come before one scroll event. So the end is restored after each change.
  useEffect(() => {
    const keep = () => isStuck.current && stick();
    const observer = new MutationObserver(keep);
    const dock = section.current?.closest("main")?.querySelector(".dock");
    if (dock) observer.observe(dock, { childList: true, subtree: true, attributes: true });
    window.addEventListener("resize", keep);
    return () => {
      observer.disconnect();
      window.removeEventListener("resize", keep);
    };
  }, [section, stick]);

  // When scrolling starts, the position has hardly changed while the answer grows. So the input
  // event counts, not the position.
  useEffect(() => {
    const scroller = scrollerIn(section);
    if (!scroller) return;
    const up = () => {
      if (scroller.scrollTop > 0) stayHere();
    };
    const down = () => {
      if (leftIn(scroller) <= 2) isStuck.current = true;
    };
    const wheel = ({ deltaX, deltaY, ctrlKey, target }: WheelEvent) => {
      const isOther = ctrlKey || Math.abs(deltaX) > Math.abs(deltaY); // a zoom, or a horizontal movement
      if (isOther || !deltaY || movesWithin(target, scroller, deltaY)) return;
      if (deltaY < 0) up();
      else down();
    };
    // An element that the person opens or closes keeps its position.
    const open = ({ target }: MouseEvent) => {
      if (!(target as Element).closest(OPENS)) return;
      stayHere();
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
    // There is no event when a scroll bar is released, except for the next pointer event.
    for (const each of ["pointerup", "pointermove"] as const) window.addEventListener(each, release, options);
    return () => ended.abort();
  }, [section, stayHere]);

  return { isAway, isStuck, updatePosition, stick, stayHere };
}

const UP = new Set(["ArrowUp", "PageUp", "Home"]);
const OPENS = "summary, .show-all";

/** Whether a nested scroller takes this movement. */
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
