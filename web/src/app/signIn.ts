// How people sign in: with a link of this server, or in the application that embeds the page.

/**
 * Whether the application authenticates its users: then no command of this server creates links.
 */
export function isSignedInByApplication(): boolean {
  const told = document.querySelector<HTMLMetaElement>('meta[name="turnwire-sign-in"]');
  return told?.content === "application";
}

/**
 * Returns the command that prints a link. Only the server that `turnwire` itself runs needs no
 * address.
 */
export function linkCommand(): string {
  const { href, pathname } = new URL(document.baseURI);
  return pathname === "/" ? "turnwire token link" : `turnwire token link --url ${href.replace(/\/$/, "")}`;
}
