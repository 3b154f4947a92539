// The settings page: language, theme, notifications and keys.
import { violations } from "./axe";
import { stage } from "./scene";

const { here, test } = stage();

test("language and theme are chosen by their names, by mouse and by keyboard, and are kept", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await page.goto(`${here.server.url}/`);
  await page.getByRole("button", { name: "Preferences" }).click();
  await page.getByRole("menuitem", { name: "Settings" }).click();
  await page.waitForURL(`${here.server.url}/settings`);
  await page.getByRole("radio", { name: "Dark" }).check();
  expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe("dark");
  await page.getByText("New conversation").last().waitFor(); // among the keys
  await page.getByRole("radio", { name: "Light" }).check();
  await page.getByRole("radio", { name: "System" }).check();
  expect(await violations(page)).toEqual([]);
  await page.getByRole("radio", { name: "English" }).focus();
  await page.keyboard.press("ArrowDown");
  await page.getByRole("heading", { name: "设置" }).waitFor();
  await page.reload();
  await page.getByRole("heading", { name: "设置" }).waitFor();
  await page.getByRole("radio", { name: "English" }).check();
  await page.getByRole("heading", { name: "Settings" }).waitFor();
});
