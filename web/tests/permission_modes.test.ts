// The permission mode of an agent.

import { choose, chosenOf } from "./browser";
import { stage } from "./scene";
import { ROOT, Server } from "./server";

const BOLD = {
  TURNWIRE_AGENTS: "web.tests.python.agents:Bold",
  TURNWIRE_AGENT_OPTIONS: "{}",
  PYTHONPATH: ROOT,
};
const { here, test } = stage(() => Server.start(BOLD));

interface Told {
  status: { permission_mode?: string };
}

test("the mode without permission requests must be confirmed first", async ({ person, expect }) => {
  const { page } = person;
  const { id } = await here.server.ask<{ id: string }>("POST", "/api/conversations", {
    permission_mode: "default",
  });
  const told = async () =>
    (await here.server.ask<Told>("GET", `/api/conversations/${id}`)).status.permission_mode;
  await page.goto(`${here.server.url}/c/${id}`);
  const mode = chosenOf(page, "Permissions");
  await choose(page, "Permissions", "bypassPermissions");
  const asked = page.getByRole("dialog", { name: "Allow everything without asking?" });
  await asked.getByText("It can run every command, change and delete every file").waitFor();
  await asked.getByRole("button", { name: "Cancel" }).click();
  await asked.waitFor({ state: "detached" });
  await expect.poll(mode).toBe("default");
  await choose(page, "Permissions", "plan"); // needs no confirmation
  await expect.poll(told).toBe("plan");
  await choose(page, "Permissions", "bypassPermissions");
  await page.keyboard.press("Enter"); // the focus is on a button that closes the dialog
  await asked.waitFor({ state: "detached" });
  expect(await told()).toBe("plan");
  await choose(page, "Permissions", "bypassPermissions");
  await asked.getByRole("button", { name: "Allow everything" }).click();
  await expect.poll(told).toBe("bypassPermissions");
  await expect.poll(mode).toBe("bypassPermissions");
});

test("a new conversation asks for the same confirmation", async ({ person, expect }) => {
  const { page } = person;
  await page.goto(`${here.server.url}/new`);
  const mode = chosenOf(page, "Permissions");
  await choose(page, "Permissions", "bypassPermissions");
  const asked = page.getByRole("dialog", { name: "Allow everything without asking?" });
  await asked.getByRole("button", { name: "Cancel" }).click();
  await asked.waitFor({ state: "detached" });
  expect(await mode()).toBe("");
  await choose(page, "Permissions", "bypassPermissions");
  await asked.getByRole("button", { name: "Allow everything" }).click();
  await expect.poll(mode).toBe("bypassPermissions");
});
