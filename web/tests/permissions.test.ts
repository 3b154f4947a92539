// Permission requests: their forms, their keys, and the decisions.
import { Person, say, state } from "./browser";
import { stage } from "./scene";

const { here, test } = stage();

test("the end of a conversation stays in view, even if permission forms open and close quickly", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await page.setViewportSize({ width: 375, height: 667 });
  await person.quick("hello");
  await page.locator(".row.turn").waitFor();
  await say(page, "delete something");
  const left = () =>
    page.locator(".scroller").evaluate((each) => each.scrollHeight - each.clientHeight - each.scrollTop);
  for (const form of ["Edit", "Deny, with a reason"]) {
    await page.locator(".request").getByRole("button", { name: form }).waitFor();
    await expect.poll(left).toBeLessThan(3);
    // Both clicks come before the next animation frame, as on a busy machine.
    await page.evaluate(async (name) => {
      const press = (words: string) => {
        const all = [...document.querySelectorAll<HTMLElement>(".request button")];
        all.find((each) => each.textContent?.startsWith(words))?.click();
        return document.querySelector(".scroller")?.scrollTop; // forces a layout
      };
      press(name);
      await null;
      press("Back");
      await new Promise((later) => requestAnimationFrame(() => requestAnimationFrame(later)));
    }, form);
    await expect.poll(left).toBeLessThan(3);
    await page.locator(".request").getByRole("button", { name: form }).click();
    await page.locator(".request form").getByRole("textbox").fill("something else");
    await page.locator(".request form button").first().click();
    await state(page, "Ready");
    await expect.poll(left).toBeLessThan(3);
    await say(page, "delete something");
  }
});

test("an empty edited command is refused with a hint, and nothing runs", async ({ person, expect }) => {
  const { page } = person;
  await person.quick("delete something");
  const bar = page.getByRole("region", { name: "Permission" });
  await bar.getByRole("button", { name: "Edit", exact: true }).click();
  const field = bar.getByRole("textbox");
  for (const nothing of ["", "  \n "]) {
    await field.fill(nothing);
    await bar.getByRole("button", { name: "Allow with changes" }).click();
    await bar.getByRole("alert").getByText("The command is empty.").waitFor();
    expect(await page.locator(".state-words").innerText()).toBe("Waiting for you");
  }
  await field.fill("ls");
  await expect.poll(() => bar.getByRole("alert").count()).toBe(0);
  await bar.getByRole("button", { name: "Allow with changes" }).click();
  await page.locator(".markdown code", { hasText: "ls" }).waitFor();
});

test("the key y allows, and the request shows exactly what runs", async ({ person, expect }) => {
  const { page } = person;
  await person.quick("delete something");
  const bar = page.getByRole("region", { name: "Permission" });
  expect((await bar.locator(".command-line code").innerText()).trim()).toBe("rm -r build");
  await bar.locator("kbd:not(.soon)").first().waitFor();
  await page.keyboard.press("y");
  await page.getByText("Allowed by you").waitFor();
  await state(page, "Ready");
});

test("what a permission is asked for is shown once, and its card opens with a click, a key or the decision", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await page.setViewportSize({ width: 375, height: 667 });
  await person.quick("delete something");
  const bar = page.getByRole("region", { name: "Permission" });
  await bar.getByText("rm -r build", { exact: true }).waitFor();
  const card = page.locator("details.tool.command");
  const shown = page.locator(".command-line", { hasText: "rm -r build" });
  expect(await card.locator("summary .state").innerText()).toBe("Needs your permission");
  await expect.poll(() => shown.count()).toBe(1);
  await bar.getByRole("button", { name: "Always" }).click({ trial: true });
  await card.locator("summary").click();
  await expect.poll(() => shown.count()).toBe(2);
  await card.locator("summary").press("Enter");
  await expect.poll(() => shown.count()).toBe(1);
  await bar.getByRole("button", { name: "Deny", exact: false }).first().click();
  await state(page, "Ready");
});

test("a tap opens the card of a call that waits for a permission, and the decision opens it by itself", async ({
  expect,
}) => {
  const person = await Person.enter(here.browser, here.server, {
    viewport: { width: 375, height: 667 },
    hasTouch: true,
    isMobile: true,
  });
  const { page } = person;
  await person.quick("delete something");
  const card = page.locator("details.tool.command");
  await card.getByText("Needs your permission").waitFor();
  expect(await card.getAttribute("open")).toBe(null);
  const line = card.locator(".command-line");
  await page.getByRole("button", { name: "Always", disabled: false }).waitFor();
  // A tap is lost if the list moves under it.
  await expect
    .poll(async () => {
      if (!(await line.count())) await card.locator("summary").tap();
      return line.count();
    })
    .toBe(1);
  await page.reload(); // what was opened by hand is forgotten
  await card.getByText("Needs your permission").waitFor();
  expect(await line.count()).toBe(0);
  const allow = page.getByRole("region", { name: "Permission" }).getByRole("button", { name: "Allow" });
  await allow.first().tap();
  await line.waitFor();
  await person.leave();
});

test("a permission is denied with a reason", async ({ person, expect }) => {
  const { page } = person;
  await person.quick("delete something");
  await page.getByRole("button", { name: "Deny, with a reason" }).click();
  await page.getByPlaceholder("Reason").fill("not today");
  await page.keyboard.press("Enter");
  await page.locator(".decided", { hasText: "Denied by you" }).getByText("not today").waitFor();
  await state(page, "Ready");
  const card = page.locator("details.tool.command");
  expect(await card.locator("summary .state").innerText()).toBe("denied");
  expect(await card.getByText("not today").count()).toBe(1);
});

test("a permission that was open when its conversation was archived is withdrawn, not failed", async ({
  person,
  expect,
}) => {
  const { page } = person;
  const id = await person.quick("delete something");
  await page.getByRole("region", { name: "Permission" }).waitFor();
  await here.server.ask("PATCH", `/api/conversations/${id}`, { archived: true });
  await here.server.ask("PATCH", `/api/conversations/${id}`, { archived: false });
  await page.goto(`${here.server.url}/c/${id}`);
  const card = page.locator("details.tool.command");
  await expect.poll(() => card.locator("summary .state").innerText()).toBe("Withdrawn");
  await card.getByText("Withdrawn · Stopped: the conversation was archived").waitFor();
  expect(await card.locator(".bad").count()).toBe(0);
});

test("an edited command is allowed instead of the requested one", async ({ person }) => {
  const { page } = person;
  await person.quick("delete something");
  await page.getByRole("button", { name: "Edit", exact: true }).click();
  const field = page.getByRole("textbox", { name: "Edit", exact: true });
  await field.fill("rm -r \u202ebuild");
  await page.locator(".edit .unseen", { hasText: "U+202E" }).waitFor();
  await field.fill("rm -r build/tmp");
  await page.getByRole("button", { name: "Allow with changes" }).click();
  await page.getByText("What actually ran").waitFor();
  await page.locator(".markdown code", { hasText: "rm -r build/tmp" }).waitFor();
});

test('the rule behind "Always" is shown, and the agent does not ask again', async ({ person, expect }) => {
  const { page } = person;
  await person.quick("delete something");
  const always = page.getByRole("button", { name: "Always" });
  const rule = page.getByText("Command “rm -r build” · in this conversation");
  await rule.waitFor();
  const about = await always.getAttribute("aria-describedby");
  expect(await page.locator(`[id="${about}"]`, { has: rule }).count()).toBe(1);
  await always.click();
  await state(page, "Ready");
  await say(page, "delete it again");
  await page.locator("details.tool.command").nth(1).getByText("removed directory").waitFor();
  await state(page, "Ready");
});

test("a remembered permission is listed with its conversation, and the agent asks again after it is taken back", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await person.quick("delete something");
  await page.getByRole("button", { name: "Always" }).click();
  await state(page, "Ready");
  const address = page.url();
  await page.goto(new URL("settings", here.server.url).href);
  const list = page.locator(".given-rules");
  await list.getByText("Command “rm -r build” · in this conversation").first().waitFor();
  await page.getByText("Given by you").first().waitFor();
  await page.goto(address);
  await state(page, "Ready");
  await page.locator("main").getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: "Remembered permissions" }).click();
  const dialog = page.getByRole("dialog", { name: "Remembered permissions of" });
  await dialog.getByText("Command “rm -r build” · in this conversation").waitFor();
  await dialog.getByRole("button", { name: "Take back", exact: true }).click();
  await dialog.getByRole("button", { name: "Back", exact: true }).click();
  expect(await dialog.getByRole("listitem").count()).toBe(1);
  await dialog.getByRole("button", { name: "Take back", exact: true }).click();
  await dialog.getByRole("button", { name: "Yes, take it back" }).click();
  await dialog.getByText("Nothing is remembered.").waitFor();
  await page.keyboard.press("Escape");
  await say(page, "delete it again");
  await page.getByRole("region", { name: "Permission" }).waitFor();
});

test("a held key decides only one request", async ({ person, expect }) => {
  const { page } = person;
  await person.quick("delete something");
  await page.locator("kbd:not(.soon)").first().waitFor();
  await say(page, "delete something else");
  await page.getByRole("region", { name: "Queued messages" }).waitFor();
  await page.getByRole("region", { name: "Permission" }).click({ position: { x: 5, y: 5 } });
  await page.keyboard.down("y");
  await page.locator("details.tool.command .decided").waitFor();
  const second = page.locator("details.tool.command").nth(1).getByText("Needs your permission");
  await second.waitFor();
  await page.keyboard.down("y");
  await page.locator("kbd:not(.soon)").first().waitFor();
  await page.keyboard.down("y");
  await page.keyboard.up("y");
  expect(await second.count()).toBe(1);
  await page.keyboard.press("n");
  await page.locator(".decided", { hasText: "Denied by you" }).waitFor();
  await state(page, "Ready");
});
