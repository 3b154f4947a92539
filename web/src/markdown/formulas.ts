// Reads TeX into MathML elements. Only elements and attributes of these lists reach the page.
import temml from "temml";

export interface Drawn {
  tag: string;
  attributes: Record<string, string>;
  children: (Drawn | string)[];
}

const TAGS = new Set(
  `math mrow mi mn mo ms mtext mspace mfrac msqrt mroot mstyle merror mpadded mphantom msub msup msubsup
   munder mover munderover mmultiscripts mprescripts none mtable mtr mtd menclose`.split(/\s+/),
);
const ATTRIBUTES = new Set(
  `display displaystyle scriptlevel mathvariant stretchy symmetric largeop movablelimits accent accentunder
   form fence separator lspace rspace minsize maxsize width height depth voffset linethickness columnalign
   rowspacing columnspacing rowalign columnlines rowlines frame notation dir`.split(/\s+/),
);
/** The most elements of a formula. */
const MOST = 3_000;

/** What Temml returns: an element, a fragment or a text. */
interface Node {
  type?: string;
  attributes?: Record<string, unknown>;
  children?: Node[];
  text?: string;
}

/** Returns the elements of a formula; undefined if it cannot be read. */
export function readFormula(formula: string, isDisplay: boolean): Drawn | undefined {
  try {
    const options = { displayMode: isDisplay, throwOnError: true, trust: false, maxExpand: 200 };
    const [drawn] = allowed(temml.__renderToMathMLTree(formula, options) as Node, { left: MOST });
    return typeof drawn === "object" ? drawn : undefined;
  } catch {
    return undefined; // not TeX, or too much of it
  }
}

function allowed(node: Node, count: { left: number }): (Drawn | string)[] {
  count.left -= 1;
  if (count.left < 0) throw new Error("The formula is too long.");
  if (node.text !== undefined) return [node.text];
  const children = (node.children ?? []).flatMap((each) => allowed(each, count));
  const { type } = node;
  if (type === undefined || !TAGS.has(type)) return children; // a fragment, or an element such as a link
  const attributes = Object.fromEntries(
    Object.entries(node.attributes ?? {})
      .filter(([name]) => ATTRIBUTES.has(name))
      .map(([name, value]) => [name, String(value)]),
  );
  return [{ tag: type, attributes, children }];
}
