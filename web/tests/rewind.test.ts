// Restoring files: one succeeds, one fails.
import { state } from "./browser";
import { stage } from "./scene";
import { ROOT, Server } from "./server";

const OBLIGING = {
  TURNWIRE_AGENTS: "tests.server.helpers.obliging_agent:Obliging",
  TURNWIRE_AGENT_OPTIONS: "{}",
  PYTHONPATH: ROOT,
};
const { test } = stage(() => Server.start(OBLIGING));

test("a file that could not be restored is named, also after a reload", async ({ person, expect }) => {
  const { page } = person;
  await person.quick("hello");
  await state(page, "Ready");
  const said = page.locator(".row.said");
  await said.hover();
  await said.getByRole("button", { name: "Restore the files" }).click();
  const dialog = page.getByRole("dialog", { name: "Restore files" });
  await dialog.getByText("Files that were created after your message are deleted.").waitFor();
  await dialog.getByRole("button", { name: "Restore 1 file" }).click();
  await page.locator(".notice.bad", { hasText: "1 file was restored; 1 could not be restored" }).waitFor();
  await dialog.waitFor({ state: "detached" });

  const told = page.locator(".row.happened", {
    hasText: "1 file was restored by you; 1 could not be restored",
  });
  const lists = told.getByRole("list", { name: "Files" });
  await told.getByText("Could not be restored", { exact: true }).waitFor();
  await expect.poll(() => lists.allInnerTexts()).toEqual(["a.txt", "b.txt"]);
  await page.reload();
  await expect.poll(() => lists.allInnerTexts()).toEqual(["a.txt", "b.txt"]);
});
