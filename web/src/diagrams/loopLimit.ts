// The time limit of a script that has a thread in common with the page. A frame of its own cannot be
// stopped there from outside, so the script has to stop itself: each loop and function calls `tick`.
import { parseAst } from "vite";

/** Is called in the changed code. It throws after the deadline, and again at each later call. */
export const TICK = "turnwireTick";

interface Node {
  type: string;
  start: number;
  end: number;
  body?: Node;
}

/** Returns the code with a call of `tick` at the beginning of each loop and of each function. */
export function withLoopLimit(code: string): string {
  const added: [at: number, text: string][] = [];
  const visit = (node: Node) => {
    const isLoop = /^(For|ForIn|ForOf|While|DoWhile)Statement$/.test(node.type);
    const isFunction = /Function/.test(node.type);
    const { body } = node;
    if ((isLoop || isFunction) && body?.type === "BlockStatement") added.push([body.start + 1, `${TICK}();`]);
    else if (isLoop && body) added.push([body.start, `{${TICK}();`], [body.end, "}"]);
    for (const value of Object.values(node))
      for (const each of Array.isArray(value) ? value : [value])
        if (typeof each?.type === "string") visit(each);
  };
  visit(parseAst(code) as unknown as Node);
  added.sort(([one], [other]) => one - other);
  let from = 0;
  const pieces: string[] = [];
  for (const [at, text] of added) {
    pieces.push(code.slice(from, at), text);
    from = at;
  }
  return pieces.join("") + code.slice(from);
}
