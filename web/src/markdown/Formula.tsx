// A formula, drawn by the browser as MathML. The program that reads TeX is loaded with the first one.
import { createElement, memo, type ReactNode, useEffect, useState } from "react";
import type { Drawn } from "./formulas";
import { VisibleText } from "./VisibleText";

type Read = (formula: string, isDisplay: boolean) => Drawn | undefined;

let loading: Promise<Read> | undefined;

interface Props {
  formula: string;
  isDisplay: boolean;
  /** What was written, shown until then, and if it is no formula. */
  source: string;
}

export const Formula = memo(function Formula({ formula, isDisplay, source }: Props) {
  const [drawn, setDrawn] = useState<Drawn>();
  useEffect(() => {
    let isGone = false;
    loading ??= import("./formulas").then(({ readFormula }) => readFormula);
    loading.then(
      (read) => isGone || setDrawn(read(formula, isDisplay)),
      () => {
        loading = undefined; // the next formula tries again
      },
    );
    return () => {
      isGone = true;
    };
  }, [formula, isDisplay]);
  if (drawn === undefined)
    return (
      <code>
        <VisibleText text={source.trim()} />
      </code>
    );
  const shown = elementOf(drawn, 0);
  return isDisplay ? (
    <span className="formula" tabIndex={0} role="group" aria-label={formula}>
      {shown}
    </span>
  ) : (
    shown
  );
});

function elementOf(drawn: Drawn | string, key: number): ReactNode {
  if (typeof drawn === "string") return <VisibleText key={key} text={drawn} />;
  return createElement(drawn.tag, { key, ...drawn.attributes }, ...drawn.children.map(elementOf));
}
