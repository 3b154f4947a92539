/** Returns the address if a link may lead to it. Any other link is shown as text. */
export function safeAddress(href: string): string | undefined {
  try {
    const url = new URL(href);
    return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : undefined;
  } catch {
    return undefined; // a relative address would lead to this server
  }
}
