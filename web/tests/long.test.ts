// Ten thousand messages, and a transcript that means no good.
import { Server } from "./server";
import { stage } from "./stage";

const { here, test } = stage(async () => {
  const server = await Server.start();
  server.python("seed", "long", "10000");
  server.python("seed", "hostile");
  return server;
});

test("of ten thousand messages the newest are shown, and all can be reached, in order", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await page.goto(`${here.server.url}/c/long`);
  await page.locator(".row.said", { hasText: "Question 2500" }).waitFor();
  const { most, isInOrder } = await page.evaluate(async () => {
    const scroller = document.querySelector(".scroller") as HTMLElement;
    let most = 0;
    let isInOrder = true;
    for (let first = 2500; first > 1; ) {
      scroller.scrollBy(0, -scroller.clientHeight * 8);
      await new Promise(requestAnimationFrame);
      const shown = [...document.querySelectorAll(".row.said .bubble")].map((row) =>
        Number(/\d+/.exec(row.textContent ?? "")?.[0]),
      );
      most = Math.max(most, document.querySelectorAll(".row").length);
      isInOrder &&= shown.every((number, at) => at === 0 || number === (shown[at - 1] ?? 0) + 1);
      first = Math.min(first, ...shown);
    }
    return { most, isInOrder };
  });
  expect(most).toBeLessThanOrEqual(200);
  expect(isInOrder).toBe(true);
  const beginning = page.locator(".row.said", { hasText: /^Question 1$/ });
  const isShown = async () => {
    await page.locator(".scroller").evaluate((element) => element.scrollTo(0, 0));
    return beginning.isVisible();
  };
  await expect.poll(isShown).toBe(true);
});

test("a message far back is found, and shown where it is", async ({ person }) => {
  const { page } = person;
  await page.goto(`${here.server.url}/c/long?at=8001`);
  await page.locator(".sought .row.said", { hasText: "Question 2001" }).waitFor();
  // Its result stands in the card of the call.
  await page.goto(`${here.server.url}/c/long?at=8004`);
  await page.locator(".sought details.tool.command", { hasText: "echo 2001" }).waitFor();
});

test("what is searched for is shown, though it comes after the first messages", async ({ person }) => {
  const { page } = person;
  let release: (() => void) | undefined;
  const isSeen = new Promise<void>((done) => {
    release = done;
  });
  let count = 0;
  await page.routeWebSocket(/conversations\/long/, (socket) => {
    const server = socket.connectToServer();
    server.onMessage(async (message) => {
      count += 1;
      if (count > 40) await isSeen;
      socket.send(message);
    });
  });
  await page.goto(`${here.server.url}/c/long?at=9997`);
  await page.locator(".row.said").first().waitFor();
  await page.evaluate(() => new Promise(requestAnimationFrame));
  release?.();
  await page.locator(".sought .row.said", { hasText: "Question 2500" }).waitFor();
});

test("a hostile transcript does nothing", async ({ person, expect }) => {
  const { page } = person;
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  const opened: string[] = [];
  page.context().on("page", (other) => opened.push(other.url()));
  await page.goto(`${here.server.url}/c/hostile`);
  await page.locator(".row").first().waitFor();
  // What the turn has given in the shape that was asked for is shown as it came.
  await page.locator(".structured", { hasText: "Structured output" }).getByText('"red"').waitFor();
  const scroller = page.locator(".scroller");
  for (let at = 0; at < 400; at += 1) {
    const isTop = await scroller.evaluate((element) => {
      element.scrollBy(0, -element.clientHeight);
      for (const summary of element.querySelectorAll<HTMLElement>(".thoughts:not([open]) summary"))
        summary.click();
      return element.scrollTop <= 0;
    });
    await page.evaluate(() => new Promise(requestAnimationFrame));
    if (isTop) break;
  }
  await page.locator(".row.said").first().getByText("<script>window.broken = 1</script>").waitFor();
  expect(await page.evaluate(() => "broken" in window)).toBe(false);
  expect(asked.filter((url) => !url.startsWith(here.server.url) && !url.startsWith("blob:"))).toEqual([]);
  expect(opened).toEqual([]);
  expect(
    await page.locator("main script, main iframe, main svg[onload], main style, main img[src^=http]").count(),
  ).toBe(0);
  expect(
    await page.locator("main a[href^=javascript], main a[href^=data], main a[href^=vbscript]").count(),
  ).toBe(0);
});

test("characters that cannot be seen are shown by their numbers", async ({ person }) => {
  const { page } = person;
  await page.goto(`${here.server.url}/c/hostile?at=32`);
  await page.locator(".unseen", { hasText: "U+202E" }).first().waitFor();
});

test("the page may not be framed, and runs no script but its own", async ({ person, expect }) => {
  const { page } = person;
  await person.goHome();
  const refused = await page.evaluate(async () => {
    const script = document.createElement("script");
    try {
      script.textContent = "window.broken = 1";
    } catch {
      return "trusted types";
    }
    document.body.append(script);
    return "broken" in window ? "ran" : "policy";
  });
  expect(refused).not.toBe("ran");
  person.problems.length = 0; // the browser says what it has refused
});
