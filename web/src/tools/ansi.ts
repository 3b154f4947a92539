// Reads the colours in the output of a command, and removes its other control sequences.

export interface Coloured {
  text: string;
  /** Class names: a colour, and how it is written. */
  style: string;
}

const NAMES = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"] as const;
/** A sequence of SGR; any other sequence of CSI; one of OSC, such as a title or a link; others. */
const SEQUENCE =
  // biome-ignore lint/complexity/useRegexLiterals: a literal would contain control characters
  new RegExp(
    "\\u001b(?:\\[([0-9;:]*)m|\\[[0-?]*[ -/]*[@-~]|\\][^\\u0007\\u001b]*(?:\\u0007|\\u001b\\\\)|[ -/]*[0-Z\\\\^-~])",
    "g",
  );

interface State {
  colour: string | undefined;
  behind: string | undefined;
  isBold: boolean;
  isFaint: boolean;
  isUnderlined: boolean;
}

const PLAIN: State = {
  colour: undefined,
  behind: undefined,
  isBold: false,
  isFaint: false,
  isUnderlined: false,
};

/** Returns the text without control sequences. A line that was overwritten is left out. */
export function withoutColours(text: string): string {
  return overwritten(text.replace(SEQUENCE, ""));
}

/** Returns the pieces of a text, each with its style. */
export function colouredPieces(written: string): Coloured[] {
  const text = overwritten(written);
  const pieces: Coloured[] = [];
  let state = PLAIN;
  let from = 0;
  const add = (to: number) => {
    const piece = text.slice(from, to);
    if (piece) pieces.push({ text: piece, style: styleOf(state) });
  };
  for (const found of text.matchAll(SEQUENCE)) {
    add(found.index);
    from = found.index + found[0].length;
    if (found[1] !== undefined) state = changed(state, found[1]);
  }
  add(text.length);
  return pieces;
}

/** A colour behind the text decides the colour of the text, which has to be readable. */
function styleOf({ colour, behind, isBold, isFaint, isUnderlined }: State): string {
  return [
    behind ? `ansi-on-${behind}` : colour && `ansi-${colour}`,
    isBold && "ansi-bold",
    isFaint && "ansi-faint",
    isUnderlined && "ansi-line",
  ]
    .filter(Boolean)
    .join(" ");
}

function changed(before: State, codes: string): State {
  let state = before;
  const numbers = codes.split(/[;:]/).map(Number);
  for (let at = 0; at < numbers.length; at += 1) {
    const code = numbers[at] ?? 0;
    const name = NAMES[code % 10];
    const tens = Math.floor(code / 10);
    if (code === 0) state = PLAIN;
    else if (code === 1) state = { ...state, isBold: true };
    else if (code === 2) state = { ...state, isFaint: true };
    else if (code === 4) state = { ...state, isUnderlined: true };
    else if (code === 22) state = { ...state, isBold: false, isFaint: false };
    else if (code === 24) state = { ...state, isUnderlined: false };
    else if (name && (tens === 3 || tens === 9)) state = { ...state, colour: name };
    else if (name && (tens === 4 || tens === 10)) state = { ...state, behind: name };
    else if (code === 39) state = { ...state, colour: undefined };
    else if (code === 49) state = { ...state, behind: undefined };
    else if (code === 38 || code === 48) {
      const [colour, used] = extended(numbers.slice(at + 1));
      state = code === 38 ? { ...state, colour } : { ...state, behind: colour };
      at += used;
    }
  }
  return state;
}

/** Returns the nearest of the names, whose colours are readable in both themes, and the numbers used. */
function extended([kind, ...rest]: number[]): [string | undefined, number] {
  if (kind === 5) {
    const [index = 0] = rest;
    if (index < 16) return [NAMES[index % 8], 2];
    if (index >= 232) return [index < 244 ? "black" : "white", 2];
    const cube = index - 16;
    return [nearest(Math.floor(cube / 36) / 5, (Math.floor(cube / 6) % 6) / 5, (cube % 6) / 5), 2];
  }
  if (kind === 2) {
    const [red = 0, green = 0, blue = 0] = rest;
    return [nearest(red / 255, green / 255, blue / 255), 4];
  }
  return [undefined, 0];
}

function nearest(red: number, green: number, blue: number): string | undefined {
  const most = Math.max(red, green, blue);
  if (red === most && green > most * 0.35 && green < most * 0.8 && blue < most * 0.4) return "orange";
  const bit = (part: number) => Number(most > 0 && part > most * 0.6);
  return NAMES[bit(red) + 2 * bit(green) + 4 * bit(blue)];
}

/** Of a line with carriage returns, as of a progress bar, only the last state is left. */
function overwritten(text: string): string {
  if (!text.includes("\r")) return text;
  const last = (line: string) => line.slice(line.lastIndexOf("\r") + 1);
  return text.replaceAll("\r\n", "\n").split("\n").map(last).join("\n");
}
