// The page key of a page that came in with a link. A browser sends a cookie to every port of a host; the
// key is in the storage of the page's own origin, which no other port can read. Only both together open
// the server, so that the key alone is no secret worth taking.

/** Its name in the storage. Undefined: the server has another origin, or this is no browser. */
function nameOf(url: string): string | undefined {
  const origin = globalThis.location?.origin;
  if (!origin || !`${url}/`.startsWith(`${origin}/`)) return undefined;
  return `turnwire:page:${url.slice(origin.length).replace(/\/*$/, "/")}`;
}

/** The page key for the server at this address, if there is one. */
export function pageKey(url: string): string | undefined {
  const name = nameOf(url);
  try {
    return (name && localStorage.getItem(name)) || undefined;
  } catch {
    return undefined; // a browser may forbid it
  }
}

export function keepPageKey(url: string, key: string): void {
  const name = nameOf(url);
  if (name) localStorage.setItem(name, key);
}

/** The header that a page of the server sends with each request. */
export function pageHeaders(url: string): Record<string, string> {
  const key = pageKey(url);
  return key ? { "X-Turnwire-Page": key } : {};
}
