// Checks of the layout of a page: what a person would see at once, and axe does not.
import type { Page } from "playwright-core";

/** Returns what does not fit: a page wider than its window, and controls that are cut off or covered. */
export async function layoutFaults(page: Page, width: number): Promise<string[]> {
  return page.evaluate((width) => {
    const faults: string[] = [];
    const wide = document.documentElement.scrollWidth;
    if (wide > width) faults.push(`${wide} pixels wide`);
    const nameOf = (element: Element) =>
      `${element.tagName.toLowerCase()}.${element.className} "${(element.ariaLabel ?? element.textContent ?? "").slice(0, 40)}"`;
    // A modal dialog covers everything else.
    const root = [...document.querySelectorAll("dialog:modal")].at(-1) ?? document.body;
    for (const control of root.querySelectorAll<HTMLElement>("button, a, input, textarea, select, summary")) {
      const { left, right, width: across, height } = control.getBoundingClientRect();
      if (!across || !height || getComputedStyle(control).visibility === "hidden") continue;
      if (control.closest(".hidden, .skip, pre, .markdown .table, [inert]")) continue;
      if (left < -1 || right > innerWidth + 1) faults.push(`outside of the window: ${nameOf(control)}`);
    }
    // A text over its own icon, as two rules of one name would do it.
    for (const icon of root.querySelectorAll<SVGElement>("svg.icon")) {
      const text = icon.nextElementSibling;
      if (!text?.textContent?.trim() || text.matches(".hidden, input, svg")) continue;
      const [a, b] = [icon.getBoundingClientRect(), text.getBoundingClientRect()];
      if (!a.width || !b.width) continue;
      const isOver =
        a.right > b.left + 1 && b.right > a.left + 1 && a.bottom > b.top + 1 && b.bottom > a.top + 1;
      if (isOver) faults.push(`an icon covers: ${nameOf(text)}`);
    }
    return faults;
  }, width);
}
