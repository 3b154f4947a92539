// Draws diagrams, one after another, each in a sandboxed frame of its own that lives as long as the drawing.
// The page never trusts the frame: it checks the answer, and shows it as a picture, in which nothing runs.
import frame from "virtual:diagram-frame";
import type { Answer, Job, Picture, Problem } from "./protocol";

export interface Drawn {
  picture: Blob;
  width: number;
  height: number;
  title: string;
  kind: string;
}

export type Result = Drawn | { problem: Problem };

/** Characters of the source. */
const MAX_SOURCE = 20_000;
/** Characters of the picture. */
const MAX_PICTURE = 2_000_000;
/** Pixels. */
const MAX_SIDE = 20_000;
const MAX_TITLE = 200;

/** Milliseconds: for loading the program, for the drawing, and until the frame is removed. */
const LOADING = 30_000;
const DRAWING = 3_000;
const WAITING = 6_000;

/** Results that are kept, so that a row that is scrolled back is not drawn again. */
const MAX_KEPT = 40;
const kept = new Map<string, Result>();

let last: Promise<unknown> = Promise.resolve();

const keyOf = (source: string, isDark: boolean) => `${isDark ? "dark" : "light"}:${source}`;

/** Returns the result of an earlier drawing. */
export function keptResult(source: string, isDark: boolean): Result | undefined {
  if (source.length > MAX_SOURCE) return { problem: "tooLong" };
  return kept.get(keyOf(source, isDark));
}

/** Draws a diagram. Does not if `isGone` returns true when its turn has come. */
export function draw(source: string, isDark: boolean, isGone: () => boolean): Promise<Result | undefined> {
  const drawing = last.then(async () => {
    const before = keptResult(source, isDark);
    if (before || isGone()) return before;
    const result = await inFrame({ source, isDark, milliseconds: DRAWING, maxLength: MAX_SOURCE });
    if (!("problem" in result) || result.problem !== "notLoaded") keep(keyOf(source, isDark), result);
    return result;
  });
  last = drawing.catch(() => {});
  return drawing;
}

function keep(key: string, result: Result): void {
  kept.set(key, result);
  const [oldest] = kept.keys();
  if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest);
}

function inFrame(job: Job): Promise<Result> {
  const element = document.createElement("iframe");
  const { port1: port, port2: other } = new MessageChannel();
  return new Promise<Result>((resolve) => {
    let timer = setTimeout(() => resolve({ problem: "notLoaded" }), LOADING);
    port.onmessage = ({ data }) => resolve(checked(data));
    element.onload = () => {
      clearTimeout(timer);
      timer = setTimeout(() => resolve({ problem: "tooSlow" }), WAITING);
      // The origin of the frame is opaque, so it has no name.
      element.contentWindow?.postMessage(job, "*", [other]);
    };
    element.setAttribute("sandbox", "allow-scripts");
    element.className = "diagram-frame";
    element.title = "";
    element.tabIndex = -1;
    element.ariaHidden = "true";
    element.src = frame;
    document.body.append(element);
  }).finally(() => {
    port.close();
    element.remove();
  });
}

/** Returns the answer of the frame if it is what it has to be. */
function checked(data: unknown): Result {
  if (typeof data !== "object" || data === null) return { problem: "unreadable" };
  const answer = data as Partial<Picture> & Partial<Extract<Answer, { problem: Problem }>>;
  const { svg, width, height, title, kind } = answer;
  if (answer.problem === "tooSlow" || answer.problem === "tooMany") return { problem: answer.problem };
  if (typeof svg !== "string" || svg.length > MAX_PICTURE) return { problem: "unreadable" };
  if (!isSide(width) || !isSide(height)) return { problem: "unreadable" };
  return {
    picture: new Blob([svg], { type: "image/svg+xml" }),
    width,
    height,
    title: typeof title === "string" ? title.slice(0, MAX_TITLE) : "",
    kind: typeof kind === "string" ? kind.slice(0, MAX_TITLE) : "",
  };
}

function isSide(pixels: unknown): pixels is number {
  return typeof pixels === "number" && pixels >= 1 && pixels <= MAX_SIDE;
}
