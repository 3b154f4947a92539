// What messages and outputs contain is drawn as what it means.
import type { Page } from "playwright-core";
import { describe, expect as expects, test as plain } from "vitest";
import { readFormula } from "../src/markdown/formulas";
import { GrowingMarkdown } from "../src/markdown/growingMarkdown";
import { answerParts, markupParts } from "../src/tools/agentMarkup";
import { colouredPieces, withoutColours } from "../src/tools/ansi";
import { violations } from "./axe";
import { Person, recordCopies } from "./browser";
import { stage } from "./scene";
import { Server } from "./server";

const { here, test } = stage(async () => {
  const server = await Server.start();
  server.python("seed", "content");
  return server;
});

const card = (page: Page, name: string) => page.locator(`[data-tool="${name}"]`);

test("formulas are MathML, prices are not, and what is no TeX stays as it was written", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await page.goto(`${here.server.url}/c/content`);
  await page.locator(".scroller").evaluate((each) => each.scrollTo(0, 0));
  const text = page.locator(".row.text").first();
  await expect.poll(() => text.locator("math").count()).toBeGreaterThanOrEqual(2);
  expect(await text.locator("math mfrac").count()).toBe(2);
  expect(await text.locator(".formula > math[display=block]").count()).toBe(1);
  await text.getByText("It costs $5 and not $10.").waitFor();
  await text.getByText("$\\unknown{x}$").waitFor();
  expect(await text.locator('[href^="javascript"]').count()).toBe(0);
  await text.locator("figure.diagram").waitFor();
  expect(await violations(page)).toEqual([]);
});

test("the mark of a footnote leads to the note, and the note back to the mark", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await page.goto(`${here.server.url}/c/content`);
  await page.locator(".scroller").evaluate((each) => each.scrollTo(0, 0));
  const focused = () => page.evaluate(() => document.activeElement?.className);
  await page.getByRole("button", { name: "Footnote 1", exact: true }).focus();
  await page.keyboard.press("Enter");
  await expect.poll(focused).toBe("note");
  await page.locator(".note strong", { hasText: "tax" }).waitFor();
  await page.getByRole("button", { name: "Back to the text of footnote 1" }).click();
  await expect.poll(focused).toBe("note-ref");
  await page.getByText("No note: [^none].").waitFor();
});

test("the output of a command has its colours, and can be copied and shown whole", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await page.goto(`${here.server.url}/c/content`);
  const copied = await recordCopies(page);
  const colours = card(page, "colours");
  await colours.locator(".ansi-red.ansi-bold", { hasText: /^red$/ }).waitFor();
  await colours.locator(".ansi-green", { hasText: /^green$/ }).waitFor();
  expect(await colours.locator(".output pre").innerText()).toBe("red and green\n100%\n");
  await colours.locator(".output").hover();
  await colours.locator(".output").getByRole("button", { name: "Copy" }).click();
  await expect.poll(copied).toBe("red and green\n100%\n");
  const long = card(page, "long").locator(".output");
  await long.getByText("line 1000").waitFor();
  expect(await long.innerText()).not.toContain("line 1\n");
  await long.getByRole("button", { name: /^Show all/ }).click();
  await expect.poll(() => long.innerText()).toContain("line 1\n");
  await long.getByRole("button", { name: "Copy" }).focus();
  await page.keyboard.press("Enter");
  await expect.poll(copied).toMatch(/^line 1\n/);
});

test("markup of an agent is drawn as what it means", async ({ person, expect }) => {
  const { page } = person;
  await page.goto(`${here.server.url}/c/content`);
  await expect
    .poll(() => card(page, "error").locator(".output.bad pre").innerText())
    .toBe("File has not been read yet.");
  const reminder = card(page, "reminder").locator(".reminder");
  expect(await reminder.getByText("Be careful.").isVisible()).toBe(false);
  await reminder.getByText("Note of the agent to its model").click();
  await reminder.getByText("Be careful.").waitFor();
  await page.locator(".scroller").evaluate((each) => each.scrollTo(0, 0));
  await page.locator(".said code", { hasText: /^\/review main$/ }).waitFor();
});

test("a picture is shown large, by mouse, keyboard and touch", async ({ expect }) => {
  const person = await Person.come(here.browser, here.server, { hasTouch: true });
  await person.beKnown();
  const { page } = person;
  await page.goto(`${here.server.url}/c/content`);
  const small = card(page, "picture").getByRole("button", { name: "Show the picture" });
  const large = page.getByRole("dialog", { name: "Picture" });
  for (const press of [() => small.click(), () => small.press("Enter"), () => small.tap()]) {
    await press();
    await large.getByRole("img").waitFor();
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await large.waitFor({ state: "detached" });
  }
  await person.leave();
});

describe("without a browser", () => {
  const names = (text: string) =>
    new GrowingMarkdown().parse(text).flatMap(function walk(token): string[] {
      const inner = "tokens" in token && Array.isArray(token.tokens) ? token.tokens.flatMap(walk) : [];
      return token.type === "math" || token.type === "noteRef" ? [token.raw.trim(), ...inner] : inner;
    });

  plain("formulas are found where they are meant", () => {
    expects(names("a $x^2$ b \\(y\\) c $$z$$ d")).toEqual(["$x^2$", "\\(y\\)", "$$z$$"]);
    expects(names("$$\na\n=\nb\n$$\n\ntext")).toEqual(["$$\na\n=\nb\n$$"]);
    expects(names("\\[\na\n\\]")).toEqual(["\\[\na\n\\]"]);
    for (const text of ["$5 and $10", "$ x$", "$x $", "`$x$`", "```\n$x$\n```", "\\$x$", "$$\na\n\nb\n$$"])
      expects(names(text)).toEqual([]);
  });

  plain("growing text with formulas and notes is the same however it was cut", () => {
    const text = "One $x$.\n\n$$\na\n=\nb\n$$\n\nTwo[^1].\n\n[^1]: note\n    more\n\nEnd \\(y\\).";
    const whole = JSON.stringify(new GrowingMarkdown().parse(text));
    const growing = new GrowingMarkdown();
    for (let to = 1; to < text.length; to += 1) growing.parse(text.slice(0, to));
    expects(JSON.stringify(growing.parse(text))).toBe(whole);
  });

  plain("a formula has only elements and attributes of MathML, and a bad one is none", () => {
    const drawn = JSON.stringify(readFormula("\\href{javascript:x}{y} + \\frac12", true));
    expects(drawn === undefined || !drawn.includes("javascript")).toBe(true);
    expects(JSON.stringify(readFormula("\\frac12", true))).toContain('"mfrac"');
    expects(JSON.stringify(readFormula("\\class{veil}{x} \\style{color:red}{x}", false) ?? "")).not.toMatch(
      /veil|style"/,
    );
    expects(readFormula("\\frac{", false)).toBeUndefined();
    expects(readFormula("\\def\\a{\\a\\a}\\a", false)).toBeUndefined();
    expects(readFormula("{".repeat(3000), false)).toBeUndefined();
  });

  plain("colours are read, and other sequences of a terminal are removed", () => {
    const styles = (text: string) => colouredPieces(text).map(({ text, style }) => `${style}|${text}`);
    expects(styles("\u001b[31ma\u001b[1mb\u001b[39mc\u001b[0md")).toEqual([
      "ansi-red|a",
      "ansi-red ansi-bold|b",
      "ansi-bold|c",
      "|d",
    ]);
    expects(styles("\u001b[38;2;250;10;10ma\u001b[48;5;20mb\u001b[mc\u001b[94;4md")).toEqual([
      "ansi-red|a",
      "ansi-on-blue|b",
      "|c",
      "ansi-blue ansi-line|d",
    ]);
    expects(styles("\u001b[37;41mFAIL\u001b[49m a\u001b[39mc\u001b[102md")).toEqual([
      "ansi-on-red|FAIL",
      "ansi-white| a",
      "|c",
      "ansi-on-green|d",
    ]);
    const names = [196, 208, 214, 226, 46, 51, 21, 201, 160, 88, 244, 16].map((index) =>
      styles(`\u001b[38;5;${index}ma`)[0]?.slice(5, -2),
    );
    expects(names.join(" ")).toBe("red orange orange yellow green cyan blue magenta red red white black");
    expects(withoutColours("\u001b]0;title\u0007a\u001b[2Kb\u001b[10;20Hc\r\nx\ry")).toBe("abc\ny");
    expects(withoutColours("\u001b]8;;https://x.example\u001b\\link\u001b]8;;\u001b\\")).toBe("link");
  });

  plain("the markup of agents is split into its parts", () => {
    expects(markupParts("<b>plain</b>")).toEqual([{ kind: "text", text: "<b>plain</b>" }]);
    expects(markupParts("a\n<system-reminder>b</system-reminder>\n")).toEqual([
      { kind: "text", text: "a" },
      { kind: "reminder", text: "b" },
    ]);
    expects(
      markupParts(
        "<command-message>x</command-message><command-name>/x</command-name><command-args></command-args>",
      ),
    ).toEqual([{ kind: "command", text: "/x" }]);
    expects(answerParts("a\n<system-reminder>\nb\n</system-reminder>\nc")).toEqual([
      { kind: "text", text: "a\n" },
      { kind: "reminder", text: "b" },
      { kind: "text", text: "\nc" },
    ]);
    const quoted = "```\n<system-reminder>b</system-reminder>\n```\n";
    expects(answerParts(quoted)).toEqual([{ kind: "text", text: quoted }]);
    expects(markupParts("<tool_use_error>open")).toEqual([{ kind: "text", text: "<tool_use_error>open" }]);
  });
});
