// A mermaid diagram, drawn when it comes into view. Its source stays at hand.
import { useEffect, useRef, useState, useSyncExternalStore } from "react";
import { CopyButton } from "../app/CopyButton";
import { Dialog } from "../app/Dialog";
import { useWords } from "../app/language";
import { CodeText } from "../markdown/Code";
import { LongText } from "../markdown/LongText";
import { type Drawn, draw, keptResult, type Result } from "./drawing";

/** Milliseconds between two attempts to load the program. */
const AGAIN = 5_000;
/** The characters of a long source that are shown at first. */
const CHARACTERS = 5_000;

export default function Diagram({ source }: { source: string }) {
  const words = useWords();
  const figure = useRef<HTMLElement>(null);
  const result = useResult(figure, source);
  const [isSource, setSource] = useState(false);
  const drawn = result && !("problem" in result) ? result : undefined;
  const problem = result && "problem" in result ? result.problem : undefined;
  return (
    <figure className="code diagram" ref={figure}>
      <figcaption>
        <span>{words.diagram}</span>
        <span>
          {drawn && (
            <button
              type="button"
              className="quiet small"
              aria-pressed={isSource}
              onClick={() => setSource(!isSource)}
            >
              {words.showSource}
            </button>
          )}
          <CopyButton text={source} />
        </span>
      </figcaption>
      {problem && <p className="note-line">{words.diagramProblem[problem]}</p>}
      {drawn && !isSource ? (
        <Drawing drawn={drawn} />
      ) : (
        <LongText text={source} most={CHARACTERS}>
          {(shown) => <CodeText code={shown} />}
        </LongText>
      )}
    </figure>
  );
}

function Drawing({ drawn }: { drawn: Drawn }) {
  const words = useWords();
  const [address, setAddress] = useState<string>();
  const [isLarge, setLarge] = useState(false);
  useEffect(() => {
    const url = URL.createObjectURL(drawn.picture);
    setAddress(url);
    return () => URL.revokeObjectURL(url);
  }, [drawn]);
  const { width, height } = drawn;
  const alt = words.diagramNamed(drawn.title || drawn.kind);
  return (
    <>
      <button
        type="button"
        className="picture"
        aria-label={words.showDiagram(alt)}
        onClick={() => setLarge(true)}
      >
        <img src={address} alt={alt} width={width} height={height} />
      </button>
      {isLarge && (
        <Dialog label={words.diagram} className="lightbox whole-diagram" close={() => setLarge(false)}>
          {() => (
            <div tabIndex={0} role="group" aria-label={alt}>
              <img src={address} alt={alt} width={width} height={height} />
            </div>
          )}
        </Dialog>
      )}
    </>
  );
}

/** Draws it as soon as it is in view, and again when the theme changes. */
function useResult(figure: React.RefObject<HTMLElement | null>, source: string): Result | undefined {
  const isDark = useIsDark();
  const [result, setResult] = useState(() => keptResult(source, isDark));
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    const before = keptResult(source, isDark);
    if (before) return setResult(before);
    let isGone = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const observer = new IntersectionObserver((seen) => {
      if (!seen.some((each) => each.isIntersecting)) return;
      observer.disconnect();
      void draw(source, isDark, () => isGone).then((drawn) => {
        if (isGone || !drawn) return;
        setResult(drawn);
        if ("problem" in drawn && drawn.problem === "notLoaded")
          timer = setTimeout(() => setAttempt((before) => before + 1), AGAIN);
      });
    });
    if (figure.current) observer.observe(figure.current);
    return () => {
      isGone = true;
      clearTimeout(timer);
      observer.disconnect();
    };
  }, [figure, source, isDark, attempt]);
  return result;
}

/** Whether the page is dark now: by choice, or as the system is. */
function useIsDark(): boolean {
  return useSyncExternalStore(subscribe, isDark);
}

const system = matchMedia("(prefers-color-scheme: dark)");

function isDark(): boolean {
  const { theme } = document.documentElement.dataset;
  return theme === undefined ? system.matches : theme === "dark";
}

function subscribe(changed: () => void): () => void {
  const observer = new MutationObserver(changed);
  observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  system.addEventListener("change", changed);
  return () => {
    observer.disconnect();
    system.removeEventListener("change", changed);
  };
}
