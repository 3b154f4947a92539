// What a person decides: permissions and their forms.
import { say, state } from "./browser";
import { stage } from "./stage";

const { test } = stage();

test("a talk follows its end, however quickly the forms of a permission open and close", async ({
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
  for (const form of ["Change it", "Deny, with a reason"]) {
    await page.getByRole("button", { name: form }).waitFor();
    await expect.poll(left).toBeLessThan(3);
    // On a busy machine both clicks come before the next frame.
    await page.evaluate(async (name) => {
      const press = (words: string) => {
        const all = [...document.querySelectorAll<HTMLElement>(".request button")];
        all.find((each) => each.textContent?.startsWith(words))?.click();
        return document.querySelector(".scroller")?.scrollTop; // the browser has laid it out
      };
      press(name);
      await null;
      press("Back");
      await new Promise((later) => requestAnimationFrame(() => requestAnimationFrame(later)));
    }, form);
    await expect.poll(left).toBeLessThan(3);
    await page.getByRole("button", { name: form }).click();
    await page.locator(".request form").getByRole("textbox").fill("something else");
    await page.locator(".request form button").first().click();
    await state(page, "Ready");
    await expect.poll(left).toBeLessThan(3);
    await say(page, "delete something");
  }
});

test("a command that is changed to nothing is refused with a hint, and nothing runs", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await person.quick("delete something");
  const bar = page.getByRole("region", { name: "Permission" });
  await bar.getByRole("button", { name: "Change it" }).click();
  const field = bar.getByRole("textbox");
  for (const nothing of ["", "  \n "]) {
    await field.fill(nothing);
    await bar.getByRole("button", { name: "Allow as changed" }).click();
    await bar.getByRole("alert").getByText("There is no command to run.").waitFor();
    expect(await page.locator(".state-words").innerText()).toBe("Waits for you");
  }
  await field.fill("ls");
  await expect.poll(() => bar.getByRole("alert").count()).toBe(0);
  await bar.getByRole("button", { name: "Allow as changed" }).click();
  await page.locator(".markdown code", { hasText: "ls" }).waitFor();
});
