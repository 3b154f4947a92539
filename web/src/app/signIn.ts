// How people sign in: with a link of this server, or in the application that embeds the page.

/**
 * Whether the application authenticates its users: then no command of this server creates links.
 */
export function isSignedInByApplication(): boolean {
  return told("turnwire-sign-in") === "application";
}

/** Returns where the application signs its users in; undefined if it does not say. */
export function loginAddress(): string | undefined {
  return told("turnwire-login");
}

/** Returns where the application signs its users out; undefined if it does not say. */
export function logoutAddress(): string | undefined {
  return told("turnwire-logout");
}

function told(name: string): string | undefined {
  return document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content || undefined;
}

/** Sends a guest to the application, once in this tab: a person without access would come back again and again. */
export function sendToLogin(): void {
  const address = loginAddress();
  if (!address) return;
  try {
    if (sessionStorage.getItem("turnwire:sent")) return;
    sessionStorage.setItem("turnwire:sent", "yes");
  } catch {
    return; // without storage the person follows the link
  }
  location.assign(address);
}

/**
 * Returns the command that prints a link. Only the server that `turnwire` itself runs needs no
 * address.
 */
export function linkCommand(): string {
  const { href, pathname } = new URL(document.baseURI);
  return pathname === "/" ? "turnwire token link" : `turnwire token link --url ${href.replace(/\/$/, "")}`;
}
