// What a file of browser tests needs: a browser, a server, and for each test a person of its own.
import type { Browser } from "playwright-core";
import { afterAll, test as base, beforeAll } from "vitest";
import { openBrowser, Person } from "./browser";
import { Server } from "./server";

export interface Stage {
  browser: Browser;
  server: Server;
}

/** Tests of one file run at the same time, on one server. */
export function stage(start: () => Promise<Server> = () => Server.start()) {
  const here = {} as Stage;
  const rooms: Person[] = []; // windows that nobody is in
  beforeAll(async () => {
    [here.browser, here.server] = await Promise.all([openBrowser(), start()]);
  });
  afterAll(async () => {
    await here.browser?.close(); // its connection: the browser itself goes on
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
    /** In whose pages something is changed that stays, as what comes over their lines. */
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
