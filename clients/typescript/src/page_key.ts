// The page key of a page that was opened with a link. A browser sends a cookie to every port of a
// host, but only pages of the same origin can read this key in the storage. The server requires
// both, so the key alone is useless.

/** Returns the key's name in the storage; undefined for another origin, or outside of a browser. */
function nameOf(url: string): string | undefined {
  const origin = globalThis.location?.origin;
  if (!origin || !`${url}/`.startsWith(`${origin}/`)) return undefined;
  return `turnwire:page:${url.slice(origin.length).replace(/\/*$/, "/")}`;
}

/** Returns the page key for the server at this address, if there is one. */
export function pageKey(url: string): string | undefined {
  const name = nameOf(url);
  try {
    return (name && localStorage.getItem(name)) || undefined;
  } catch {
    return undefined; // a browser may forbid storage
  }
}

export function keepPageKey(url: string, key: string): void {
  const name = nameOf(url);
  if (name) localStorage.setItem(name, key);
}

/** Returns the header that a page of the server sends with each request. */
export function pageHeaders(url: string): Record<string, string> {
  const key = pageKey(url);
  return key ? { "X-Turnwire-Page": key } : {};
}
