// Prints a conversation as a document: all of its messages, also those that are not rendered.
import { useEffect, useState } from "react";
import { flushSync } from "react-dom";

const PRINT = "turnwire:print";

/** Asks the page to load the whole conversation and print it. */
export function printConversation(): void {
  dispatchEvent(new Event(PRINT));
}

/** Prints on request, after everything is loaded. */
export function usePrint(loadAll: () => Promise<void>): void {
  useEffect(() => {
    let isGone = false;
    const run = async () => {
      await loadAll();
      if (!isGone) print();
    };
    const hear = () => void run().catch(() => {}); // the refusal has been shown
    addEventListener(PRINT, hear);
    return () => {
      isGone = true;
      removeEventListener(PRINT, hear);
    };
  }, [loadAll]);
}

/** Whether the page is being printed: then all rows have to be in the document. */
export function useIsPrinting(): boolean {
  const [isPrinting, setPrinting] = useState(false);
  useEffect(() => {
    // The browser takes the document as it is after these listeners.
    const before = () => {
      flushSync(() => setPrinting(true));
      nameAddresses();
    };
    const after = () => setPrinting(false);
    addEventListener("beforeprint", before);
    addEventListener("afterprint", after);
    return () => {
      removeEventListener("beforeprint", before);
      removeEventListener("afterprint", after);
    };
  }, []);
  return isPrinting;
}

/** Marks the links whose text is not their address: on paper it is written behind them. */
function nameAddresses(): void {
  for (const link of document.querySelectorAll<HTMLAnchorElement>(".markdown a[href]")) {
    const text = link.textContent?.trim() ?? "";
    if (![link.href, link.href.replace(/\/$/, "")].includes(text)) link.dataset.address = link.href;
  }
}
