// The tools of an agent of one's own, of which the page knows nothing.
import { violations } from "./axe";
import { say } from "./browser";
import { stage } from "./scene";
import { ROOT, Server } from "./server";

const { here, test } = stage(() =>
  Server.start({ TURNWIRE_AGENTS: "web.tests.python.agents:gardener,demo", PYTHONPATH: ROOT }),
);

const INPUT = {
  height_cm: 120,
  side: "south",
  note: "Birds may nest in it.\nLook first.",
  gap: " ",
  when: { from: "06:00" },
};
const SHOWN = [
  ["height_cm", "120"],
  ["side", "south"],
  ["note", "Birds may nest in it.\nLook first."],
  ["gap", '" "'],
  ["when", '{"from": "06:00"}'],
];

test("an unknown tool shows its arguments by their names, in the permission and in its card", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await page.setViewportSize({ width: 375, height: 667 });
  const { id } = await here.server.ask<{ id: string }>("POST", "/api/conversations", { agent: "gardener" });
  await page.goto(`${here.server.url}/c/${id}`);
  await say(page, JSON.stringify(INPUT));
  const permission = page.getByRole("region", { name: "Permission" });
  await permission.getByRole("heading", { name: "May the tool “cut_hedge” run?" }).waitFor();
  const fieldsOf = (selector: string) =>
    page
      .locator(`${selector} .fields > div`)
      .evaluateAll((all) => all.map((each) => [...each.children].map(({ textContent }) => textContent)));
  await expect.poll(() => fieldsOf(".permission")).toEqual(SHOWN);
  expect(await violations(page)).toEqual([]);
  const width = () => page.evaluate(() => document.documentElement.scrollWidth);
  expect(await width()).toBe(375);
  await permission.getByRole("button", { name: /^Allow/ }).click();
  await page.getByText("Done.").waitFor();
  await page.locator(".card.tool summary").click();
  await expect.poll(() => fieldsOf(".card.tool")).toEqual(SHOWN);
  expect(await violations(page)).toEqual([]);
});

test("an input that is too large for names is shown as a whole, and an empty one is not shown", async ({
  person,
  expect,
}) => {
  const { page } = person;
  const ask = async (input: object) => {
    const { id } = await here.server.ask<{ id: string }>("POST", "/api/conversations", { agent: "gardener" });
    await page.goto(`${here.server.url}/c/${id}`);
    await say(page, JSON.stringify(input));
    await page.getByRole("region", { name: "Permission" }).waitFor();
  };
  await ask(Object.fromEntries(Array.from({ length: 13 }, (_, at) => [`field_${at}`, at])));
  await page.locator(".permission .raw", { hasText: '"field_12": 12' }).waitFor();
  await ask({ long: "x".repeat(2_000) });
  await page.locator(".permission .raw", { hasText: '"long": "xxx' }).waitFor();
  expect(await page.locator(".permission .fields").count()).toBe(0);
  await ask({});
  await page
    .getByRole("button", { name: /^Allow/ })
    .first()
    .click();
  await page.getByText("Done.").waitFor();
  await page.locator(".card.tool summary").click();
  await page.locator(".card.tool .output", { hasText: "cut" }).waitFor();
  expect(await page.locator(".card.tool :is(.raw, .fields)").count()).toBe(0);
});
