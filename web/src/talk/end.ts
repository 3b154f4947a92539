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
  const offset = useRef(0);
  const [isAway, setAway] = useState(false);
  const look = useCallback(() => {
    const scroller = scrollerIn(section);
    if (!scroller) return;
    const went = scroller.scrollTop - offset.current;
    const left = leftIn(scroller);
    if (went > 0 && left < NEAR) isStuck.current = true;
    else if (went < -2 && left > 2) isStuck.current = false;
    offset.current = scroller.scrollTop;
    setAway(!isStuck.current && left >= NEAR);
  }, [section]);
  const letGo = useCallback(() => {
    isStuck.current = false;
  }, []);
  // Not the list's own way, which goes there again and again for a while, whoever scrolls meanwhile.
  const stick = useCallback(() => {
    isStuck.current = true;
    const scroller = scrollerIn(section);
    if (!scroller) return;
    scroller.scrollTop = scroller.scrollHeight;
    offset.current = scroller.scrollTop; // so that nobody is taken to have scrolled
    setAway(false);
  }, [section]);

  // What was drawn may still grow: pictures come, rows are measured.
  useEffect(() => {
    const scroller = scrollerIn(section);
    if (!scroller) return;
    const observer = new ResizeObserver(() => {
      if (isStuck.current) stick();
    });
    for (const each of [scroller, ...scroller.children]) observer.observe(each);
    return () => observer.disconnect();
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
    const wheel = ({ deltaY }: WheelEvent) => (deltaY < 0 ? up() : deltaY > 0 && down());
    const key = ({ key }: KeyboardEvent) => UP.has(key) && up();
    const ended = new AbortController();
    const options = { passive: true, signal: ended.signal };
    scroller.addEventListener("wheel", wheel, options);
    scroller.addEventListener("keydown", key, options);
    scroller.addEventListener("touchmove", up, options);
    scroller.addEventListener("touchend", down, options);
    return () => ended.abort();
  }, [section, letGo]);

  return { isAway, isStuck, look, stick, letGo };
}

const UP = new Set(["ArrowUp", "PageUp", "Home"]);

const scrollerIn = (section: RefObject<HTMLElement | null>): HTMLElement | null | undefined =>
  section.current?.querySelector<HTMLElement>(".scroller");

const leftIn = (scroller: HTMLElement): number =>
  scroller.scrollHeight - scroller.clientHeight - scroller.scrollTop;
