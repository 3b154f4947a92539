// What a file of browser tests needs: a browser, a server, and for each test a person of its own.
import type { Browser } from "playwright-core";
import { afterAll, test as base, beforeAll } from "vitest";
import { openBrowser, Person } from "./browser";
import { Server } from "./server";

export interface Stage {
  browser: Browser;
  server: Server;
}

/** Tests of one file run at the same time, in one browser, on one server. */
export function stage(start: () => Promise<Server> = () => Server.start()) {
  const here = {} as Stage;
  beforeAll(async () => {
    [here.browser, here.server] = await Promise.all([openBrowser(), start()]);
  });
  afterAll(async () => {
    await here.browser?.close();
    await here.server?.stop();
  });
  const test = base.extend<{ person: Person }>({
    person: async ({ task: _ }, use) => {
      const person = await Person.enter(here.browser, here.server);
      await use(person);
      await person.leave();
    },
  });
  return { here, test };
}
