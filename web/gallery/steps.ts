// Opens what a page shows only after a click or a key: ?open=NAME does the steps of opened.ts.
import { en } from "../src/words/en";
import { zh } from "../src/words/zh";
import { OPENED, type Step } from "./opened";

/** Milliseconds for one step. */
const LIMIT = 20_000;

/** Where the list of conversations is not always in sight. */
const isNarrow = () => matchMedia("(max-width: 46rem)").matches;
const isShown = (element: HTMLElement) => element.getClientRects().length > 0;

/** The words that the page has now: it loads those of another language after its first view. */
const wordsNow = () => (document.documentElement.lang.startsWith("zh") ? zh : en);

/** Returns the element as soon as it is shown. */
async function find(selector: string, named?: Step["named"]): Promise<HTMLElement> {
  for (const end = performance.now() + LIMIT; performance.now() < end; ) {
    const all = [...document.querySelectorAll<HTMLElement>(selector)].filter(isShown);
    const text = named?.(wordsNow());
    const found = all.find(
      (each) => text === undefined || (each.ariaLabel ?? each.innerText).trim() === text,
    );
    if (found) return found;
    await new Promise(requestAnimationFrame);
  }
  throw new Error(
    `The gallery cannot open this state: ${selector} ${named?.(wordsNow()) ?? ""} is not shown.`,
  );
}

/** Presses a key until it has opened something: a page listens to keys only a moment after it is shown. */
async function press(keys: string, opens: string): Promise<void> {
  const [key = "", modifier] = keys.split("+").reverse();
  for (const end = performance.now() + LIMIT; performance.now() < end; ) {
    if ([...document.querySelectorAll<HTMLElement>(opens)].some(isShown)) return;
    const options = { key, ctrlKey: modifier === "Control", bubbles: true, cancelable: true };
    (document.activeElement ?? document.body).dispatchEvent(new KeyboardEvent("keydown", options));
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  throw new Error(`The gallery cannot open this state: ${keys} does not open ${opens}.`);
}

async function take(step: Step): Promise<void> {
  if (step.after !== undefined) await find(step.after);
  if (step.key !== undefined) await press(step.key, step.opens ?? "");
  if (step.click !== undefined) (await find(step.click, step.named)).click();
  if (step.paste !== undefined) {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", step.paste);
    const event = new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true });
    (await find(step.into ?? "textarea")).dispatchEvent(event);
  }
  if (step.type !== undefined) {
    const field = await find(step.into ?? "input");
    Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), "value")?.set?.call(field, step.type);
    field.dispatchEvent(new InputEvent("input", { bubbles: true }));
  }
}

/** Does the steps of the state that the address names. `data-open` tells the visual tests that it is open. */
export async function open(): Promise<void> {
  const name = new URLSearchParams(location.search).get("open");
  const opened = OPENED.find((each) => each.name === name);
  if (!opened) return;
  for (const step of opened.steps) if (!step.isNarrow || isNarrow()) await take(step);
  await find(opened.shows);
  document.documentElement.dataset.open = opened.name;
}
