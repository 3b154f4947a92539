// When the inbox asks the server.
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { Client } from "../src/node.js";

test("a change during a request of the inbox causes another request", async () => {
  let ids = ["one"];
  const answers: (() => void)[] = [];
  /** Computes its answer when the request comes, and sends it when the test calls a function. */
  const server = createServer((_, answer: ServerResponse) => {
    const body = JSON.stringify({ items: ids.map((id) => ({ inbox_item_id: id })) });
    answers.push(() => answer.setHeader("Content-Type", "application/json").end(body));
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { inbox } = new Client(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const first = inbox.refresh();
  await expect.poll(() => answers.length).toBe(1);
  ids = ["two"];
  const later = [inbox.refresh(), inbox.refresh()];
  answers[0]?.();
  await first;
  expect(inbox.snapshot.items.map((item) => item.inbox_item_id)).toEqual(["one"]);
  await expect.poll(() => answers.length).toBe(2);
  answers[1]?.();
  await Promise.all(later);
  expect(inbox.snapshot.items.map((item) => item.inbox_item_id)).toEqual(["two"]);
  expect(answers).toHaveLength(2); // many changes, one request
});
