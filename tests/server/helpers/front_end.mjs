// Uses a page in a real browser: talk, tool, permission, question, stop, reload, a second tab, a killed server.
// Arguments: the folder of the page with its `node_modules`, a folder for data, the command `turnwire`.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer as createSocket } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [page, data, turnwire] = process.argv.slice(2);
const packages = realpathSync(join(page, "node_modules"));
const require = createRequire(join(packages, "..", "package.json"));
const { chromium } = (await import(pathToFileURL(require.resolve("playwright-core")).href)).default;
const { createServer } = await import(pathToFileURL(join(packages, "vite/dist/node/index.js")).href);
const places = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium", "/usr/bin/google-chrome"];
const browserPath = process.env.CHROMIUM ?? places.find((path) => existsSync(path));

async function freePort() {
  const socket = createSocket().listen(0, "127.0.0.1");
  await once(socket, "listening");
  const { port } = socket.address();
  socket.close();
  await once(socket, "close");
  return port;
}

const [port, pagePort] = [await freePort(), await freePort()];
const target = `http://127.0.0.1:${port}`;
async function serve() {
  const args = ["serve", "--data-dir", data, "--agent", "demo", "--port", String(port), "--no-open"];
  const env = { ...process.env, TURNWIRE_ORIGINS: `http://127.0.0.1:${pagePort}` };
  const server = spawn(turnwire, args, { stdio: ["ignore", "ignore", "inherit"], env });
  while (server.exitCode === null) {
    const answer = await fetch(`${target}/readyz`).catch(() => null);
    if (answer?.ok) return server;
    await new Promise((later) => setTimeout(later, 50));
  }
  throw new Error("the server has ended");
}

let server = await serve();
async function kill() {
  server.kill("SIGKILL");
  await once(server, "exit");
}
const vite = await createServer({
  root: page,
  cacheDir: join(data, "vite"),
  logLevel: "error",
  define: { "import.meta.env.VITE_TURNWIRE_URL": JSON.stringify(target) },
  server: { host: "127.0.0.1", port: pagePort, strictPort: true, fs: { allow: [page, packages] } },
});
await vite.listen();
const token = readFileSync(join(data, "owner-token"), "utf8").trim();
const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"];
const browser = await chromium.launch({ executablePath: browserPath, args });
const context = await browser.newContext();
context.setDefaultTimeout(40_000);
const errors = [];
const told = {};
async function open(address) {
  const tab = await context.newPage();
  tab.on("pageerror", (error) => errors.push(String(error)));
  await tab.goto(address);
  return tab;
}
const says = (tab, text) =>
  tab.waitForFunction((said) => document.querySelector("header")?.textContent.split(", ").includes(said), text);
const shown = (tab) => tab.locator("section").allTextContents();
/** Waits until the answer after so many messages has begun, and the page follows it: a reloaded page draws the history first. */
async function hasBegun(tab, count) {
  await says(tab, "running");
  await tab.waitForFunction((least) => {
    const messages = document.querySelectorAll("section");
    return messages.length === least + 2 && messages[least + 1].textContent.length > 40;
  }, count);
}
/** Waits until the page shows the last message as the server has it: `useChat` draws text 50 ms later than "ready". */
async function settled(tab) {
  await says(tab, "ready");
  const chat = new URL(tab.url()).searchParams.get("chat");
  if (chat === null) return await shown(tab); // AG-UI: "ready" is said when everything is drawn
  const address = `${target}/api/chat/${chat}/messages`;
  const answer = await fetch(address, { headers: { Authorization: `Bearer ${token}` } });
  const { parts, metadata } = (await answer.json()).messages.at(-1);
  const isShown = ({ type, providerMetadata }) => type === "text" && !providerMetadata?.turnwire?.discarded;
  const texts = [...parts.filter(isShown).map(({ text }) => text), metadata?.turnwire?.error?.message ?? ""];
  await tab.waitForFunction((all) => {
    const last = [...document.querySelectorAll("section")].at(-1).textContent;
    return all.every((text) => last.includes(text));
  }, texts);
  return await shown(tab);
}
const talk = async (tab, words) => {
  await says(tab, "ready");
  await tab.fill("[name=words]", words);
  await tab.click("button:text-is('Send')");
};

let step = "begin";
try {
  const tab = await open(`http://127.0.0.1:${pagePort}/#token=${token}`);
  step = "permission";
  await talk(tab, "think, use a tool and want permission");
  await tab.click("button:text-is('Allow')");
  await tab.waitForSelector("text=Say `help` to see what else there is.");
  step = "question";
  await talk(tab, "question");
  await tab.click("button:text-is('Blue')");
  await tab.waitForSelector("text=it is. Thank you!");
  await says(tab, "ready");
  step = "a form with two questions";
  await talk(tab, "form");
  await tab.click("button:text-is('Red')");
  await tab.click("button:text-is('Green')");
  await tab.click("button:text-is('Large')");
  await tab.click("button:text-is('Answer')");
  await tab.waitForSelector("text=/Green.*Large.* Thank you!/");
  told.talked = await settled(tab);

  step = "stop";
  await talk(tab, "long");
  await hasBegun(tab, told.talked.length);
  await tab.click("#stop");
  told.stopped = await settled(tab);

  step = "reload";
  await talk(tab, "long");
  await hasBegun(tab, told.stopped.length);
  await tab.reload();
  const second = await open(tab.url());
  await hasBegun(tab, told.stopped.length);
  await hasBegun(second, told.stopped.length);
  step = "second tab";
  await second.click("#stop");
  told.reloaded = await settled(tab);
  told.second = await settled(second);
  await second.close();

  step = "kill";
  await talk(tab, "long");
  await hasBegun(tab, told.reloaded.length);
  await kill();
  await says(tab, "offline");
  server = await serve();
  told.killed = await settled(tab);
  step = "kill while a question is open";
  await talk(tab, "question");
  await tab.waitForSelector("button:text-is('Green')");
  await kill();
  server = await serve();
  await tab.click("button:text-is('Green')");
  await tab.waitForSelector("text=**Green** it is. Thank you!");
  told.last = await settled(tab);
  step = "reload again";
  await tab.reload();
  await tab.waitForFunction((least) => document.querySelectorAll("section").length >= least, told.last.length);
  told.again = await settled(tab);
} catch (error) {
  for (const tab of context.pages()) console.error(`${tab.url()}: ${(await tab.innerText("header"))} ${(await tab.innerText("body")).slice(-300)}`);
  console.error(`${errors.join("\n")}\n${step}: ${error}`);
  process.exitCode = 1;
} finally {
  await browser.close();
  await vite.close();
  server.kill("SIGKILL");
}
process.stdout.write(JSON.stringify({ ...told, errors }), () => process.exit());
