// Permission requests: their forms, their keys, and the decisions.
import { say, state } from "./browser";
import { stage } from "./scene";

const { test } = stage();

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
  await page.getByText("Allowed by owner").waitFor();
  await state(page, "Ready");
});

test("a permission is denied with a reason", async ({ person, expect }) => {
  const { page } = person;
  await person.quick("delete something");
  await page.getByRole("button", { name: "Deny, with a reason" }).click();
  await page.getByPlaceholder("Reason").fill("not today");
  await page.keyboard.press("Enter");
  await page.locator(".decided", { hasText: "Denied by owner" }).getByText("not today").waitFor();
  await state(page, "Ready");
  const card = page.locator("details.tool.command");
  expect(await card.locator("summary .state").innerText()).toBe("denied");
  expect(await card.getByText("not today").count()).toBe(1);
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
  const rule = page.getByText("Command “rm -r build” · in this conversation, while its agent runs");
  await rule.waitFor();
  const about = await always.getAttribute("aria-describedby");
  expect(await page.locator(`[id="${about}"]`, { has: rule }).count()).toBe(1);
  await always.click();
  await state(page, "Ready");
  await say(page, "delete it again");
  await page.locator("details.tool.command").nth(1).getByText("removed directory").waitFor();
  await state(page, "Ready");
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
  await page.locator(".decided", { hasText: "Denied by owner" }).waitFor();
  await state(page, "Ready");
});
