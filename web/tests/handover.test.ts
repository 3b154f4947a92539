// Another agent takes a conversation over on the page.

import { choose, chosenOf } from "./browser";
import { stage } from "./scene";
import { Server } from "./server";

const { here, test } = stage(() => Server.start({ TURNWIRE_AGENTS: "demo,replay", TURNWIRE_AGENT: "demo" }));

test("the agent is chosen in the header, and the messages say who spoke", async ({ person, expect }) => {
  const { page } = person;
  const { id } = await here.server.ask<{ id: string }>("POST", "/api/conversations", {
    agent: "demo",
    options: { delay: 0 },
  });
  await page.goto(`${here.server.url}/c/${id}`);
  const field = page.getByLabel("Message", { exact: true });
  await field.fill("hello");
  await field.press("Enter");
  await page.locator(".row.text").first().waitFor();
  const agent = chosenOf(page, "Agent that speaks");
  await expect.poll(agent).toBe("demo");
  await choose(page, "Agent that speaks", "replay");
  await page.getByText("replay speaks from here on. It knows what was said before.").waitFor();
  await expect.poll(agent).toBe("replay");
  await field.fill("and you?");
  await field.press("Enter");
  await page.getByText("The answer is 42.").waitFor();
  await expect.poll(() => page.locator(".speaker").allTextContents()).toEqual(["demo", "replay"]);
  const told = await here.server.ask<{ agent: string }>("GET", `/api/conversations/${id}`);
  expect(told.agent).toBe("replay");
});
