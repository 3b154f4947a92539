// Quotes the selected text of messages in the composer.
import { useEffect, useRef, useState } from "react";
import { Icon } from "../app/Icon";
import { useWords } from "../app/language";
import { useKeys, useTooltip } from "../app/shortcuts";

/** Pixels: half of the width of the button, and some room. */
const HALF = 56;

interface Place {
  top: number;
  left: number;
}

/** A button below selected text of messages. Its shortcut does the same. */
export function QuoteButton({ quote }: { quote: (text: string) => void }) {
  const words = useWords();
  const tooltip = useTooltip();
  const button = useRef<HTMLButtonElement>(null);
  const [place, setPlace] = useState<Place>();
  useEffect(() => {
    let isPressed = false; // the selection still changes
    const look = () => setPlace(isPressed ? undefined : placeBelow(selected()));
    const down = (event: PointerEvent) => {
      if (button.current?.contains(event.target as Node)) return;
      isPressed = event.pointerType === "mouse";
      look();
    };
    const up = () => {
      isPressed = false;
      look();
    };
    const moved = () => button.current && look();
    document.addEventListener("selectionchange", look);
    addEventListener("pointerdown", down);
    addEventListener("pointerup", up);
    addEventListener("pointercancel", up);
    addEventListener("scroll", moved, true);
    addEventListener("resize", moved);
    return () => {
      document.removeEventListener("selectionchange", look);
      removeEventListener("pointerdown", down);
      removeEventListener("pointerup", up);
      removeEventListener("pointercancel", up);
      removeEventListener("scroll", moved, true);
      removeEventListener("resize", moved);
    };
  }, []);
  const run = () => {
    const text = selected() ? String(getSelection()).trim() : "";
    if (!text) return;
    getSelection()?.removeAllRanges();
    quote(quoted(text));
  };
  useKeys({ quote: () => (selected() ? run() : false) });
  if (!place) return null;
  return (
    <button
      ref={button}
      type="button"
      className="small quote"
      style={place}
      title={tooltip(words.quote, "quote")}
      onMouseDown={(event) => event.preventDefault()} // the selection stays
      onClick={run}
    >
      <Icon name="quote" /> {words.quote}
    </button>
  );
}

/** Returns the selected range, if all of it is in the messages and it has text. */
function selected(): Range | undefined {
  const selection = getSelection();
  if (!selection?.rangeCount || selection.isCollapsed || !String(selection).trim()) return undefined;
  const range = selection.getRangeAt(0);
  const { commonAncestorContainer: node } = range;
  const element = node instanceof Element ? node : node.parentElement;
  return element?.closest(".timeline") ? range : undefined;
}

/** Returns the place below the end of a range; undefined if that is not visible. */
function placeBelow(range: Range | undefined): Place | undefined {
  const last = range && rectsOf(range).at(-1);
  const shown = document.querySelector(".timeline")?.getBoundingClientRect();
  if (!last || !shown || last.bottom < shown.top || last.bottom > shown.bottom) return undefined;
  const left = Math.max(shown.left + HALF, Math.min(last.right, shown.right - HALF));
  return { top: Math.min(last.bottom + 6, shown.bottom - 40), left };
}

/** Returns the rectangles of a range. Three clicks select to the beginning of another element, which is left out. */
function rectsOf(range: Range): DOMRect[] {
  const text = range.cloneRange();
  const first = range.startContainer.parentElement?.closest("p, li, pre, td, th, h3, h4, h5, h6, .bubble");
  if (first && !range.endOffset && !first.contains(range.endContainer))
    text.setEnd(first, first.childNodes.length);
  return [...text.getClientRects()].filter((each) => each.width > 0);
}

/** Returns text as a quotation in Markdown. */
function quoted(text: string): string {
  return `${text
    .split("\n")
    .map((line) => `> ${line}`.trimEnd())
    .join("\n")}\n\n`;
}
