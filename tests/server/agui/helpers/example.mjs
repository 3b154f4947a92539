// Uses examples/ag-ui in a real browser: talk, tool, permission, question, stop, reload, a second tab, a killed server.
// Arguments: the folder with the npm packages, the folder of the example, a folder for data, the command `turnwire`.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer as createSocket } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [packages, example, data, turnwire] = process.argv.slice(2);
const require = createRequire(`${packages}/package.json`);
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const { chromium } = (await load("playwright-core")).default;
const { createServer } = await import(pathToFileURL(join(packages, "node_modules/vite/dist/node/index.js")).href);
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
const vite = await createServer({
  configFile: false,
  root: example,
  cacheDir: join(data, "vite"),
  logLevel: "silent",
  resolve: { alias: { "@ag-ui/client": join(packages, "node_modules/@ag-ui/client/dist/index.mjs") } },
  define: { "import.meta.env.VITE_TURNWIRE_URL": JSON.stringify(target) },
  server: { host: "127.0.0.1", port: pagePort, strictPort: true, fs: { allow: [example, packages] } },
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
const ready = (tab) => tab.waitForFunction(() => document.querySelector("header").textContent === "ready");
const shown = (tab) => tab.locator("section").allTextContents();
const talk = async (tab, words) => {
  await ready(tab);
  await tab.fill("input[name=words]", words);
  await tab.click("button:text-is('Send')");
};

try {
  const tab = await open(`http://127.0.0.1:${pagePort}/#token=${token}`);
  await talk(tab, "think, use a tool and want permission");
  await tab.click("button:text-is('Allow')");
  await tab.waitForSelector("text=Say `help` to see what else there is.");
  await talk(tab, "question");
  await tab.click("button:text-is('Blue')");
  await tab.waitForSelector("text=it is. Thank you!");
  await ready(tab);
  await talk(tab, "form");
  await tab.click("button:text-is('Red')");
  await tab.click("button:text-is('Green')");
  await tab.click("button:text-is('Large')");
  await tab.click("button:text-is('Answer')");
  await tab.waitForSelector("text=/Green.*Large.* Thank you!/");
  await ready(tab);
  told.talked = await shown(tab);

  await talk(tab, "long");
  await tab.waitForFunction((n) => document.querySelectorAll("section").length > n + 1, told.talked.length);
  await tab.click("#stop");
  await ready(tab);
  told.stopped = await shown(tab);

  await talk(tab, "long");
  await tab.waitForFunction((n) => document.querySelectorAll("section").length > n + 1, told.stopped.length);
  await tab.reload();
  const second = await open(tab.url());
  const isBegun = (n) => document.querySelectorAll("section").length > n + 1;
  await tab.waitForFunction(isBegun, told.stopped.length);
  await second.waitForFunction(isBegun, told.stopped.length);
  await second.click("#stop");
  await ready(tab);
  await ready(second);
  told.reloaded = await shown(tab);
  told.second = await shown(second);
  await second.close();

  await talk(tab, "long");
  await tab.waitForFunction((n) => document.querySelectorAll("section").length > n + 1, told.reloaded.length);
  server.kill("SIGKILL");
  await once(server, "exit");
  await tab.waitForFunction(() => document.querySelector("header").textContent.includes("offline"));
  server = await serve();
  await tab.waitForFunction(() => !document.querySelector("header").textContent.includes("offline"));
  await tab.waitForFunction(() => !document.querySelector("header").textContent.includes("running"));
  await tab.reload();
  await ready(tab);
  told.killed = await shown(tab);
  await talk(tab, "hello");
  await tab.waitForFunction((n) => document.querySelectorAll("section").length > n + 1, told.killed.length);
  await ready(tab);
  told.last = await shown(tab);
  await tab.reload();
  await ready(tab);
  told.again = await shown(tab);
} finally {
  await browser.close();
  await vite.close();
  server.kill("SIGKILL");
}
process.stdout.write(JSON.stringify({ ...told, errors }));
process.exit(0);
