// Files that an agent puts back, and one that it cannot.
import { state } from "./browser";
import { ROOT, Server } from "./server";
import { stage } from "./stage";

const OBLIGING = {
  TURNWIRE_AGENTS: "tests.server.test_controls:Obliging",
  TURNWIRE_AGENT_OPTIONS: "{}",
  PYTHONPATH: ROOT,
};
const { test } = stage(() => Server.start(OBLIGING));

test("a file that could not be put back is named, and stays named after a reload", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await person.quick("hello");
  await state(page, "Ready");
  const said = page.locator(".row.said");
  await said.hover();
  await said.getByRole("button", { name: "Put the files back" }).click();
  const dialog = page.getByRole("dialog", { name: "Put the files back" });
  await dialog.getByText("Files that were created after your message are deleted.").waitFor();
  await dialog.getByRole("button", { name: "Put 1 file back" }).click();
  await page.locator(".notice.bad", { hasText: "1 file was put back; 1 could not be" }).waitFor();
  await dialog.waitFor({ state: "detached" });

  const told = page.locator(".row.happened", { hasText: "1 file was put back by owner; 1 could not be" });
  const lists = told.getByRole("list", { name: "Files" });
  await told.getByText("Could not be put back").waitFor();
  await expect.poll(() => lists.allInnerTexts()).toEqual(["a.txt", "b.txt"]);
  await page.reload();
  await expect.poll(() => lists.allInnerTexts()).toEqual(["a.txt", "b.txt"]);
});
