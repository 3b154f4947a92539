// Where people sign in: with a link of this server, or to the application that the page is a part of.

/** Whether the application knows its users: then no command of this server lets a guest in. */
export function isOfApplication(): boolean {
  const told = document.querySelector<HTMLMetaElement>('meta[name="turnwire-sign-in"]');
  return told?.content === "application";
}

/** The command that prints a link to this page. Only the server that `turnwire` itself runs is found without an address. */
export function linkCommand(): string {
  const { href, pathname } = new URL(document.baseURI);
  return pathname === "/" ? "turnwire token link" : `turnwire token link --url ${href.replace(/\/$/, "")}`;
}
