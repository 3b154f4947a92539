// Fixtures of a file of browser tests: a browser, a server, and a person for each test.
import type { Browser } from "playwright-core";
import { afterAll, test as base, beforeAll } from "vitest";
import { openBrowser, Person } from "./browser";
import { Server } from "./server";

export interface Stage {
  browser: Browser;
  server: Server;
}

/** Returns the fixtures. The tests of one file run concurrently, on one server. */
export function stage(start: () => Promise<Server> = () => Server.start()) {
  const here = {} as Stage;
  const rooms: Person[] = []; // windows that no test uses now
  beforeAll(async () => {
    [here.browser, here.server] = await Promise.all([openBrowser(), start()]);
  });
  afterAll(async () => {
    await here.browser?.close(); // closes the connection; the browser itself keeps running
    await here.server?.stop();
  });
  const test = base.extend<{ person: Person; alone: Person }>({
    person: async ({ task }, use) => {
      let person = rooms.pop();
      if (person === undefined) {
        person = await Person.come(here.browser, here.server);
        await person.beKnown();
      }
      await use(person);
      if (task.result?.state === "fail") return person.leave();
      await person.makeRoom();
      rooms.push(person);
    },
    /** A person whose window is not reused, for tests that change its network traffic. */
    // biome-ignore lint/correctness/noEmptyPattern: vitest reads here what a fixture needs
    alone: async ({}, use) => {
      const person = await Person.come(here.browser, here.server);
      await person.beKnown();
      await use(person);
      await person.leave();
    },
  });
  return { here, test };
}
