// Marks the found text in the document. The browser paints the marks, so that no element changes.

/** A browser without these marks shows only the row of the hit. */
function marks(): HighlightRegistry | undefined {
  return typeof Highlight === "undefined" ? undefined : CSS.highlights;
}

/** Marks a text wherever it is in `root`, and again after each change of it. Returns a function that ends this. */
export function markText(root: Element, text: string): () => void {
  const sought = text.trim().toLowerCase();
  if (!sought) return () => {};
  let frame = 0;
  const mark = () => {
    frame = 0;
    marks()?.set("found", new Highlight(...rangesIn(root, sought)));
  };
  const later = () => {
    frame ||= requestAnimationFrame(mark);
  };
  const observer = new MutationObserver(later);
  observer.observe(root, { childList: true, subtree: true, characterData: true });
  later();
  return () => {
    observer.disconnect();
    cancelAnimationFrame(frame);
    marks()?.delete("found");
  };
}

/** Returns the ranges of a text, in lower case, in the visible text of an element. */
export function rangesIn(root: Element, sought: string): Range[] {
  const ranges: Range[] = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.parentElement?.closest(".actions, .hidden, footer")) continue;
    const text = node.textContent?.toLowerCase() ?? "";
    for (let at = text.indexOf(sought); at >= 0; at = text.indexOf(sought, at + sought.length)) {
      const range = document.createRange();
      range.setStart(node, at);
      range.setEnd(node, Math.min(at + sought.length, node.textContent?.length ?? 0));
      ranges.push(range);
    }
  }
  return ranges;
}
