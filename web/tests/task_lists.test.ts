// Task lists in Markdown.

import { stage } from "./scene";
import { Server } from "./server";

const { here, test } = stage(async () => {
  const server = await Server.start();
  server.python("seed", "tasks");
  return server;
});

test("a task has its checkbox and its text in one line, in every kind of list", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await page.goto(`${here.server.url}/c/tasks`);
  const tasks = page.locator(".markdown li.task");
  await tasks.nth(4).waitFor();
  const boxes = await page.locator(".markdown").getByRole("checkbox").all();
  expect(boxes.length).toBe(5);
  const ticked = await Promise.all(boxes.map((each) => each.isChecked()));
  expect(ticked).toEqual([true, false, false, true, false]);
  expect(await page.locator(".markdown").innerText()).not.toContain("[");
  for (const width of [1280, 375]) {
    await page.setViewportSize({ width, height: 667 });
    const apart = await page.locator(".markdown li.task").evaluateAll((items) =>
      items.map((item) => {
        const box = item.querySelector("input") as HTMLElement;
        const words = document.createRange();
        words.setStartAfter(box);
        words.setEndAfter((box.parentElement as HTMLElement).lastChild as Node);
        const [first] = words.getClientRects();
        const at = box.getBoundingClientRect();
        const middle = (at.top + at.bottom) / 2;
        return first !== undefined && first.left >= at.right && first.top < middle && middle < first.bottom;
      }),
    );
    expect(apart).toEqual([true, true, true, true, true]);
  }
});
