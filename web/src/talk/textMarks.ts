// Marks the found text in the document. The browser paints the marks, so that no element changes.
import type { TextHit } from "./findText";

/** A browser without these marks shows only the row of the hit. */
function marks(): HighlightRegistry | undefined {
  return typeof Highlight === "undefined" ? undefined : CSS.highlights;
}

export interface TextMarks {
  /** Marks again, because the current hit is another one. */
  update: () => void;
  end: () => void;
}

/** Marks a text wherever it is in `root`, and again after each change of it; the current hit in its own colour. */
export function markText(root: Element, text: string, current: () => TextHit | undefined): TextMarks {
  const sought = text.trim().toLowerCase();
  let frame = 0;
  const mark = () => {
    frame = 0;
    const scroller = root.querySelector(".scroller");
    const hit = current();
    const one = hit && rangeOf(root, sought, hit);
    const now = new Highlight(...(one ? [one] : []));
    now.priority = 1;
    marks()?.set("found", new Highlight(...(scroller ? rangesIn(scroller, sought) : [])));
    marks()?.set("found-now", now);
  };
  const update = () => {
    if (marks() && sought) frame ||= requestAnimationFrame(mark);
  };
  const observer = new MutationObserver(update);
  observer.observe(root, { childList: true, subtree: true, characterData: true });
  update();
  const end = () => {
    observer.disconnect();
    cancelAnimationFrame(frame);
    marks()?.delete("found");
    marks()?.delete("found-now");
  };
  return { update, end };
}

/** Returns the range of a hit; undefined if the document does not show it. */
export function rangeOf(root: Element, sought: string, { position, nth }: TextHit): Range | undefined {
  const isInner = position !== undefined && position.inner !== position.row;
  const row = root.querySelector(isInner ? ".sought-inner" : ".sought");
  const ranges = row ? rangesIn(row, sought, true) : [];
  return ranges[Math.min(nth ?? ranges.length, ranges.length - 1)];
}

/** What is no content of a message: words of the page, and signs. */
const OTHER = [
  ".actions, .hidden, footer, button, math, .day, .by-name, .label, .state, [aria-hidden=true]",
  "figure.code > figcaption, .card.tool > .body .diff figcaption, .event > pre, .failure p, .card.structured",
  ".thoughts > summary, .reminder:not(.file) > summary, .decided, .muted",
].join();
/** Text does not go on from one of these elements to the next. */
const PART = "p, li, pre, h3, h4, h5, h6, td, th, dt, dd, div, summary, .name, .about, small";

/** Returns the ranges of a text, in lower case, in the text of an element. `isOwn`: not in the rows of a sub-agent. */
export function rangesIn(root: Element, sought: string, isOwn = false): Range[] {
  const ranges: Range[] = [];
  if (!sought) return ranges;
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  let part: Element | null = null;
  let nodes: { node: Node; from: number }[] = [];
  let text = "";
  const placeOf = (at: number) => {
    const { node, from } = nodes.findLast((each) => each.from <= at) ?? { node: root, from: at };
    return [node, Math.min(at - from, node.textContent?.length ?? 0)] as const;
  };
  const finish = () => {
    const low = text.toLowerCase();
    for (let at = low.indexOf(sought); at >= 0; at = low.indexOf(sought, at + sought.length)) {
      const range = document.createRange();
      range.setStart(...placeOf(at));
      const [node, last] = placeOf(at + sought.length - 1);
      range.setEnd(node, Math.min(last + 1, node.textContent?.length ?? 0));
      ranges.push(range);
    }
    nodes = [];
    text = "";
  };
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (!parent || parent.closest(OTHER)) continue;
    const nested = isOwn && parent.closest(".nested");
    if (nested && nested !== root && root.contains(nested)) continue;
    const its = parent.closest(PART);
    if (its !== part) finish();
    part = its;
    nodes.push({ node, from: text.length });
    text += node.textContent ?? "";
  }
  finish();
  return ranges;
}

/** Pixels between a hit and the edge of what scrolls. */
const MARGIN = 24;

/** Opens what is folded around a range, and scrolls to it in every element that scrolls, if it is out of sight. */
export function reveal(range: Range, within: Element): void {
  const { parentElement } = range.startContainer;
  for (let each = parentElement; each && each !== within; each = each.parentElement)
    if (each instanceof HTMLDetailsElement && !each.open) each.open = true;
  for (let each = parentElement; each && each !== within; each = each.parentElement) {
    const { overflowX, overflowY } = getComputedStyle(each);
    const at = range.getBoundingClientRect();
    const box = each.getBoundingClientRect();
    const isTall = /auto|scroll/.test(overflowY) && each.scrollHeight > each.clientHeight;
    const margin = Math.min(MARGIN, box.height / 4);
    if (isTall && (at.top < box.top + margin || at.bottom > box.bottom - margin))
      each.scrollTop += at.top - box.top - box.height / 2;
    const isWide = /auto|scroll/.test(overflowX) && each.scrollWidth > each.clientWidth;
    if (isWide && (at.left < box.left || at.right > box.right))
      each.scrollLeft += at.left - box.left - box.width / 2;
  }
}
