// Runs in the sandboxed frame: draws one diagram, and sends it to the page as an SVG picture.
import type { Answer, Job } from "./protocol";

interface Mermaid {
  initialize(config: object): void;
  render(id: string, source: string): Promise<{ svg: string; diagramType: string }>;
}

/** The part of mermaid's own names that this uses. */
declare global {
  var mermaid: Mermaid;
  var turnwireTick: () => void;
}

const FONT =
  'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei", sans-serif';

// The colours of the page, as mermaid can calculate with them.
const LIGHT = {
  background: "#ffffff",
  edgeLabelBackground: "#ffffff",
  primaryColor: "#e3f0eb",
  primaryBorderColor: "#1f6a57",
  primaryTextColor: "#22211f",
  secondaryColor: "#fdf3dc",
  tertiaryColor: "#f2f0ec",
  lineColor: "#5d5a53",
  textColor: "#22211f",
};
const DARK = {
  background: "#1f2120",
  edgeLabelBackground: "#1f2120",
  primaryColor: "#1c322b",
  primaryBorderColor: "#6cc7a9",
  primaryTextColor: "#e9e8e4",
  secondaryColor: "#352b17",
  tertiaryColor: "#2a2d2b",
  lineColor: "#a9aba6",
  textColor: "#e9e8e4",
};

/** What a directive in the text cannot change. */
const SECURE = [
  "secure",
  "securityLevel",
  "startOnLoad",
  "maxTextSize",
  "maxEdges",
  "suppressErrorRendering",
  "htmlLabels",
  "fontFamily",
  "themeCSS",
  "altFontFamily",
  "dompurifyConfig",
  "deterministicIds",
];

const MAX_EDGES = 500;

let isLate = false;

/** Stops the loops of mermaid after so many milliseconds. */
function limitTime(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  let calls = 0;
  globalThis.turnwireTick = () => {
    calls = (calls + 1) & 255;
    if (calls > 0 || performance.now() <= end) return;
    isLate = true;
    throw new Error("The time limit is reached");
  };
}

async function draw({ source, isDark, milliseconds, maxLength }: Job): Promise<Answer> {
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: "strict",
    secure: SECURE,
    maxTextSize: maxLength,
    maxEdges: MAX_EDGES,
    suppressErrorRendering: true,
    htmlLabels: false,
    flowchart: { htmlLabels: false },
    theme: "base",
    darkMode: isDark,
    themeVariables: { ...(isDark ? DARK : LIGHT), darkMode: isDark, fontFamily: FONT },
    fontFamily: FONT,
  });
  limitTime(milliseconds);
  const { svg, diagramType } = await mermaid.render("diagram", source);
  // In this document nothing is loaded and nothing runs.
  const drawn = new DOMParser().parseFromString(svg, "text/html").querySelector("svg");
  if (!drawn) return { problem: "unreadable" };
  clean(drawn);
  const { width, height } = sizeOf(drawn);
  drawn.setAttribute("width", String(width));
  drawn.setAttribute("height", String(height));
  drawn.setAttribute("style", `background:${(isDark ? DARK : LIGHT).background}`);
  const title = drawn.querySelector(":scope > title")?.textContent ?? "";
  return { svg: new XMLSerializer().serializeToString(drawn), width, height, title, kind: diagramType };
}

/** Removes what does nothing in a picture: scripts, links, handlers, and resources of other servers. */
function clean(drawn: SVGSVGElement): void {
  for (const each of drawn.querySelectorAll("script, iframe, object, embed, image, img, audio, video, form"))
    each.remove();
  for (const each of [drawn, ...drawn.querySelectorAll("*")])
    for (const { name, value } of [...each.attributes])
      if (/^on/i.test(name) || (/href$|^src/i.test(name) && !value.startsWith("#")))
        each.removeAttribute(name);
}

function problemOf(error: unknown): Answer {
  return { problem: /edges? limit|too many edges/i.test(String(error)) ? "tooMany" : "unreadable" };
}

function sizeOf(drawn: SVGSVGElement): { width: number; height: number } {
  const [, , width = 0, height = 0] = (drawn.getAttribute("viewBox") ?? "").split(/[\s,]+/).map(Number);
  return { width: Math.ceil(width), height: Math.ceil(height) };
}

addEventListener("message", async ({ source, data, ports: [port] }) => {
  if (source !== parent || port === undefined) return;
  const answer = await draw(data as Job).catch(problemOf);
  if (isLate) return port.postMessage({ problem: "tooSlow" } satisfies Answer);
  port.postMessage(answer);
});
