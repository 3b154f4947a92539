// The page that the worker shows while the server cannot be reached. It loads the page again as soon
// as the server answers.
import "./offline.css";

/** Milliseconds between two attempts. */
const EVERY = 2_000;
const root = document.documentElement;

/** Returns what the person has chosen on the page, or null. */
function chosen(name: string): string | null {
  try {
    return localStorage.getItem(`turnwire:${name}`);
  } catch {
    return null; // a browser may forbid storage
  }
}

/** Returns the person's own variant of the language, such as en-GB, as the rest of the page does it. */
function region(): string {
  return navigator.languages.find((each) => each.slice(0, 2) === root.lang.slice(0, 2)) ?? root.lang;
}

function describe(): void {
  root.dataset.reason = navigator.onLine ? "server" : "network";
  const usual = navigator.languages.find((each) => /^(en|zh)/.test(each)) ?? "en";
  root.lang = (chosen("language") ?? usual).startsWith("zh") ? "zh-CN" : "en";
  const theme = chosen("theme");
  if (theme) root.dataset.theme = theme;
  const heading = root.querySelector(`section[lang="${root.lang}"] .${root.dataset.reason}`);
  document.title = `${heading?.textContent} · Turnwire`;
}

/** Looks, and says when, because nothing else would change: a person who presses a button expects an answer. */
async function tryNow(): Promise<void> {
  await look();
  const time = new Date().toLocaleTimeString(region());
  for (const said of document.querySelectorAll<HTMLElement>(".tried"))
    said.textContent = `${said.dataset.words}${time}`;
}

async function look(): Promise<void> {
  describe();
  try {
    // Needs no authentication.
    const answer = await fetch(`${document.baseURI}healthz`, { cache: "no-store" });
    if (answer.ok) location.reload();
  } catch {
    // Not yet.
  }
}

describe();
setInterval(() => document.visibilityState === "visible" && void look(), EVERY);
addEventListener("online", () => void look());
addEventListener("offline", describe);
document.addEventListener("visibilitychange", () => void look());
for (const button of document.querySelectorAll("button"))
  button.addEventListener("click", () => void tryNow());
