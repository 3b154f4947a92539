// Shows the offline page while the server cannot be reached. It keeps that page and its files, and
// nothing else: no answer of the API, no conversation.

/** The part of a worker's scope that is used here: the types of pages and workers exclude each other. */
interface Scope {
  registration: ServiceWorkerRegistration;
  skipWaiting: () => Promise<void>;
  addEventListener: (
    name: "install" | "activate" | "fetch",
    listener: (event: ExtendableEvent & FetchEvent) => void,
  ) => void;
}
interface ExtendableEvent {
  waitUntil: (work: Promise<unknown>) => void;
}
interface FetchEvent {
  request: Request;
  preloadResponse: Promise<Response | undefined>;
  respondWith: (answer: Promise<Response>) => void;
}

const worker = self as unknown as Scope;
const base = worker.registration.scope;
const page = new URL("offline", base).href;
/** One cache for each build and each address of the page. */
const family = `turnwire:offline:${new URL(base).pathname}:`;
const current = family + self.location.search;
/** A proxy answers with these instead of the server. */
const UNREACHABLE = [502, 504];

async function keep(): Promise<void> {
  const cache = await caches.open(current);
  const answer = await fetch(page, { cache: "no-store" });
  if (!answer.ok) throw new Error(`The offline page: ${answer.status}`);
  const text = await answer.clone().text();
  const files = [...text.matchAll(/(?:src|href)="\.\/([^"]+\.(?:js|css|svg))"/g)];
  await cache.addAll([...new Set(files.map(([, file]) => new URL(file ?? "", base).href))]);
  await cache.put(page, answer);
  await worker.skipWaiting();
}

async function begin(): Promise<void> {
  for (const name of await caches.keys())
    if (name.startsWith(family) && name !== current) await caches.delete(name);
  await worker.registration.navigationPreload?.enable();
}

async function kept(address: string): Promise<Response> {
  const cache = await caches.open(current);
  return (await cache.match(address)) ?? Response.error();
}

async function show(event: FetchEvent): Promise<Response> {
  try {
    const answer = (await event.preloadResponse) ?? (await fetch(event.request));
    if (!UNREACHABLE.includes(answer.status)) return answer;
  } catch {
    // The server cannot be reached.
  }
  return kept(page);
}

worker.addEventListener("install", (event) => event.waitUntil(keep()));
worker.addEventListener("activate", (event) => event.waitUntil(begin()));
worker.addEventListener("fetch", (event) => {
  const { mode, method, destination, url } = event.request;
  if (mode === "navigate" && method === "GET") event.respondWith(show(event));
  else if (["script", "style", "image"].includes(destination) && url.startsWith(base))
    event.respondWith(fetch(event.request).catch(() => kept(url)));
});

export {};
