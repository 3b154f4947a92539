// Questions of the agent: forms, and their answers.
import { say, state } from "./browser";
import { stage } from "./scene";

const { test } = stage();

test("a question is answered with an option, and the card shows the answer and its author", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await person.quick("ask me a question");
  await state(page, "Waiting for you");
  const form = page.getByRole("region", { name: "Question" });
  await form.getByRole("button", { name: "Answer" }).click();
  await form.getByText("Every question needs an answer.").waitFor();
  await form.getByLabel("Green").check();
  await form.getByRole("button", { name: "Answer" }).click();
  await page.locator(".decided", { hasText: /^Answered by you$/ }).waitFor();
  await page.getByText("Green it is").waitFor();
  await state(page, "Ready");
  const offered = page.getByRole("list", { name: "Options" });
  expect(await offered.getByRole("listitem").count()).toBe(3);
  await offered.getByText("like a fire engine").waitFor();
  expect(await offered.locator(".chosen").innerText()).toContain("Green");
  expect(await page.locator(".answered").count()).toBe(0); // the list says it
});

test("a question is answered with free text", async ({ person }) => {
  const { page } = person;
  await person.quick("ask me a question");
  await page.getByLabel("Something else").fill("Ultramarine");
  await page.getByLabel("Something else").press("Enter");
  await page.getByText("Ultramarine it is").waitFor();
});

test("several questions share one form, and are answered together", async ({ person, expect }) => {
  const { page } = person;
  await person.quick("show me a form");
  const form = page.getByRole("region", { name: "Question" });
  const colours = form.getByRole("group", { name: /Which colour shall it be/ });
  const sizes = form.getByRole("group", { name: /And in which sizes/ });
  await colours.getByLabel("Red").check();
  await colours.getByLabel("Blue").check();
  await sizes.getByLabel("Small").check();
  await sizes.getByLabel("Large").check();
  await sizes.getByLabel("Something else").fill("Tiny");
  await form.getByRole("button", { name: "Answer" }).click();
  await page.getByText("Blue, Small, Large, Tiny it is").waitFor();
  await state(page, "Ready");
  expect(await page.locator(".asked, .chosen strong, .answered, .decided").allTextContents()).toEqual([
    "Which colour shall it be?",
    "And in which sizes?",
    "Tiny",
    "Answered by you",
  ]);
  const chosen = await page.locator(".chosen").allInnerTexts();
  expect(chosen.map((each) => each.split(/\s/)[0])).toEqual(["Blue", "Small", "Large"]);
});

test("optional questions can be answered in part, or skipped", async ({ person, expect }) => {
  const { page } = person;
  await person.quick("show me a form");
  const form = page.getByRole("region", { name: "Question" });
  await form
    .getByRole("group", { name: /Which colour/ })
    .getByLabel("Green")
    .check();
  await form.getByRole("button", { name: "Answer" }).click();
  await page.getByText("Green it is").waitFor();
  await state(page, "Ready");
  await say(page, "another form");
  await form.getByRole("button", { name: "Skip" }).click();
  await page.getByText("Then I choose myself.").waitFor();
  await state(page, "Ready");
  const answers = ["Skipped", "Skipped — you"]; // the second question of the first form, and the second form
  await expect.poll(() => page.locator(".answered").allTextContents()).toEqual(answers);
  expect(await form.count()).toBe(0);
});
