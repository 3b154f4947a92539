/** Where a link may lead. Whatever else somebody writes as a link is shown as words. */
export function safeAddress(href: string): string | undefined {
  try {
    const url = new URL(href);
    return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : undefined;
  } catch {
    return undefined; // not a whole address: it would lead to this server
  }
}
