// Tasks that continue after their turn, and how a person stops them.
import { say, state } from "./browser";
import { stage } from "./scene";

const { test } = stage();

test("a background task is not shown as done", async ({ person }) => {
  const { page } = person;
  await person.quick("background", 0.1);
  const shown = page.locator("details.tool.agent summary .state");
  await shown.getByText("in the background").waitFor();
  await shown.locator("svg").waitFor();
});

test("a background task can be stopped, and reports no result then", async ({ alone: person, expect }) => {
  const { page } = person;
  // Delays the command, so that the test sees the state "Stopping".
  let asked: (() => void) | undefined;
  await page.routeWebSocket(/\/ws\//, (line) => {
    const server = line.connectToServer();
    line.onMessage((message) => {
      if (String(message).includes("stop_task")) asked = () => server.send(message);
      else server.send(message);
    });
  });
  await person.quick("background", 0.1);
  await page.getByText("I will tell you when it is done").waitFor();
  const strip = page.getByRole("list", { name: "In the background" });
  await strip.getByRole("button", { name: "Stop: Search the whole archive" }).click();
  const stopping = strip.getByRole("button", { name: "Stopping: Search the whole archive" });
  await stopping.waitFor();
  expect(await stopping.isDisabled()).toBe(true);
  await expect.poll(() => asked).toBeDefined();
  asked?.();
  await strip.waitFor({ state: "detached" });
  // Its card changes, and no other row tells it.
  await page.locator("details.tool.agent summary .state", { hasText: "stopped" }).waitFor();
  expect(await page.locator(".row.happened").count()).toBe(0);
  await state(page, "Ready");
  await say(page, "hello");
  await page.getByText("You said: hello").waitFor();
  expect(await page.getByText("The background work is done").count()).toBe(0);
  // The page does not offer features that the agent lacks.
  expect(await page.getByRole("button", { name: "About the agent" }).count()).toBe(0);
  expect(await page.getByRole("button", { name: "Restore the files" }).count()).toBe(0);
});

test("a failed stop of a background task shows the reason, and can be tried again", async ({
  alone: person,
  expect,
}) => {
  const { page } = person;
  await page.routeWebSocket(/\/ws\//, (line) => {
    const server = line.connectToServer();
    line.onMessage((message) =>
      server.send(String(message).replace(/"task_id":"\w+"/, '"task_id":"unknown"')),
    );
  });
  await person.quick("background", 0.1);
  const stop = page.getByRole("button", { name: "Stop: Search the whole archive" });
  await stop.click();
  await page.locator(".notice", { hasText: "There is no background task 'unknown'." }).waitFor();
  expect(await stop.isEnabled()).toBe(true);
});
