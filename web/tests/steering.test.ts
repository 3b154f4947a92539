// Messages into the running turn.
import { saidOn, say, state } from "./browser";
import { stage } from "./scene";

const { test } = stage();

test("the second button and Ctrl+Enter send into the running turn, and the first one to the queue", async ({
  person,
  expect,
}) => {
  const { page } = person;
  const second = page.getByRole("button", { name: "Add to the running turn" });
  await person.quick("ask me a question");
  await state(page, "Waiting for you");
  const field = page.getByLabel("Message", { exact: true });
  await field.fill("by the button");
  await second.click();
  await expect.poll(() => field.inputValue()).toBe("");
  await field.fill("by the keys");
  await field.press("Control+Enter");
  await say(page, "later");

  // Until the agent takes them they are in the queue, where they cannot be edited or removed.
  const queue = page.getByRole("region", { name: "Queued messages" });
  await expect
    .poll(() => queue.locator(".text").allTextContents())
    .toEqual(["by the button · into the running turn", "by the keys · into the running turn", "later"]);
  expect(await queue.getByRole("button", { name: "Edit this message" }).count()).toBe(1);
  expect(await queue.getByRole("button", { name: "Remove this message" }).count()).toBe(1);

  const form = page.getByRole("region", { name: "Question" });
  await form.getByLabel("Green").check();
  await form.getByRole("button", { name: "Answer" }).click();
  await page.locator(".row.said", { hasText: "later" }).waitFor();
  await state(page, "Ready");
  const steered = page.locator(".row.said", { hasText: "into the running turn" });
  await expect.poll(saidOn(page)).toHaveLength(4);
  await expect.poll(() => steered.locator("p").allInnerTexts()).toEqual(["by the button", "by the keys"]);
  await expect.poll(() => second.count()).toBe(0); // no turn runs
});
