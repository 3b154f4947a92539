// Renders Markdown as elements, never as HTML: so no text can inject markup.
import type { Token, Tokens } from "marked";
import { Fragment, lazy, memo, type ReactNode, Suspense, useState } from "react";
import { ErrorBoundary } from "../app/ErrorBoundary";
import { useWords } from "../app/language";
import { CodeBlock } from "./Code";
import { decodeEntities } from "./entities";
import type { MathToken, NoteToken } from "./extensions";
import { Formula } from "./Formula";
import { GrowingMarkdown } from "./growingMarkdown";
import { LongText } from "./LongText";
import { safeAddress } from "./links";
import { Note, NoteNumbers, NoteRef, noteNumbersIn } from "./Notes";
import { VisibleText } from "./VisibleText";

/** Loaded with the first diagram; what draws it, when it is in view. */
const Diagram = lazy(() => import("../diagrams/Diagram"));

/** A longer text is shown without Markdown, first its beginning. */
export const MOST = 100_000;
const BEGINNING = 10_000;

/** The level of headings below those of the page. */
const FIRST = 2;

/**
 * Returns the levels of the headings for screen readers, without gaps, whichever level an agent
 * starts with.
 */
function levelsOf(tokens: readonly Token[]): (number | undefined)[] {
  const above: number[] = [];
  return tokens.map((token) => {
    if (token.type !== "heading") return undefined;
    const { depth } = token as Tokens.Heading;
    while ((above.at(-1) ?? 0) >= depth) above.pop();
    above.push(depth);
    return above.length - 1 + FIRST;
  });
}

export const Markdown = memo(function Markdown(props: { text: string; isGrowing?: boolean }) {
  const { text, isGrowing = false } = props;
  const [growing] = useState(() => new GrowingMarkdown());
  if (text.length > MOST) {
    return (
      <LongText text={text} most={BEGINNING}>
        {(shown) => (
          <pre className="plain">
            <VisibleText text={shown} />
          </pre>
        )}
      </LongText>
    );
  }
  const tokens = growing.parse(text);
  const levels = levelsOf(tokens);
  const notes = noteNumbersIn(tokens);
  const shown = (
    <div className={isGrowing ? "markdown growing" : "markdown"} dir="auto">
      {tokens.map((token, at) => (
        <Block key={at} token={token} isWhole={!isGrowing || at < tokens.length - 1} level={levels[at]} />
      ))}
    </div>
  );
  return notes ? <NoteNumbers value={notes}>{shown}</NoteNumbers> : shown;
});

interface BlockProps {
  token: Token;
  isWhole: boolean;
  /** The level of a heading. */
  level?: number | undefined;
}

const Block = memo(function Block({ token, isWhole, level = FIRST }: BlockProps): ReactNode {
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading": {
      const { depth, tokens } = token as Tokens.Heading;
      // Below the headings of the page itself.
      const Tag = `h${Math.min(depth + 2, 6)}` as "h3";
      return <Tag aria-level={level}>{inline(tokens)}</Tag>;
    }
    case "paragraph":
      return <p>{inline((token as Tokens.Paragraph).tokens)}</p>;
    case "code": {
      const { text, lang } = token as Tokens.Code;
      const language = lang?.split(/\s/)[0];
      const code = <CodeBlock code={text} language={language} isWhole={isWhole} />;
      if (language !== "mermaid" || !isWhole) return code;
      return (
        <ErrorBoundary instead={() => code}>
          <Suspense fallback={code}>
            <Diagram source={text} />
          </Suspense>
        </ErrorBoundary>
      );
    }
    case "blockquote":
      return <blockquote>{blocks((token as Tokens.Blockquote).tokens, isWhole)}</blockquote>;
    case "list":
      return <List list={token as Tokens.List} isWhole={isWhole} />;
    case "table":
      return <Table table={token as Tokens.Table} />;
    case "math":
      return <p>{inline([token])}</p>;
    case "note":
      return <Note name={(token as NoteToken).name}>{inline(token.tokens)}</Note>;
    case "hr":
      return <hr />;
    case "text":
    case "checkbox": // the checkbox of a task, before its text
      return inline([token]);
    default:
      // HTML is shown as source text.
      return (
        <p>
          <VisibleText text={token.raw} />
        </p>
      );
  }
});

function blocks(tokens: Token[], isWhole: boolean): ReactNode[] {
  return tokens.map((token, at) => <Block key={at} token={token} isWhole={isWhole} />);
}

function List({ list, isWhole }: { list: Tokens.List; isWhole: boolean }) {
  const items = list.items.map((item, at) => (
    <li key={at} className={item.task ? "task" : undefined}>
      {blocks(item.tokens, isWhole)}
    </li>
  ));
  return list.ordered ? <ol start={Number(list.start) || 1}>{items}</ol> : <ul>{items}</ul>;
}

function Table({ table }: { table: Tokens.Table }) {
  const words = useWords();
  const cell = (each: Tokens.TableCell, at: number, Tag: "th" | "td") => (
    <Tag key={at} className={each.align ? `to-${each.align}` : undefined}>
      {inline(each.tokens)}
    </Tag>
  );
  return (
    // A group: several tables of one page would be landmarks with one name.
    <div className="table" role="group" tabIndex={0} aria-label={words.table}>
      <table>
        <thead>
          <tr>{table.header.map((each, at) => cell(each, at, "th"))}</tr>
        </thead>
        <tbody>
          {table.rows.map((row, at) => (
            <tr key={at}>{row.map((each, column) => cell(each, column, "td"))}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function TaskBox({ isDone }: { isDone: boolean }) {
  return <input type="checkbox" checked={isDone} disabled aria-label={useWords().toDo} />;
}

function inline(tokens: Token[] = []): ReactNode {
  return tokens.map((token, at) => {
    return <Fragment key={at}>{inlineOne(token)}</Fragment>;
  });
}

function inlineOne(token: Token): ReactNode {
  switch (token.type) {
    case "strong":
      return <strong>{inline(token.tokens)}</strong>;
    case "em":
      return <em>{inline(token.tokens)}</em>;
    case "del":
      return <del>{inline(token.tokens)}</del>;
    case "br":
      return <br />;
    case "codespan":
      return (
        <code>
          <VisibleText text={(token as Tokens.Codespan).text} />
        </code>
      );
    case "link":
      return <Link href={(token as Tokens.Link).href}>{inline(token.tokens)}</Link>;
    case "image": {
      // Not loaded: an external image would tell its server who reads this.
      const { href, text } = token as Tokens.Image;
      return (
        <Link href={href}>
          <VisibleText text={`[${text || href}]`} />
        </Link>
      );
    }
    case "math": {
      const { formula, isDisplay, raw } = token as MathToken;
      return <Formula formula={formula} isDisplay={isDisplay} source={raw} />;
    }
    case "noteRef":
      return <NoteRef name={(token as NoteToken).name} source={token.raw} />;
    case "checkbox":
      return <TaskBox isDone={(token as Tokens.Checkbox).checked} />;
    case "text":
    case "escape":
      return "tokens" in token && token.tokens ? (
        inline(token.tokens)
      ) : (
        <VisibleText text={decodeEntities((token as Tokens.Text).text)} />
      );
    default:
      return <VisibleText text={token.raw} />;
  }
}

function Link({ href, children }: { href: string; children: ReactNode }) {
  const address = safeAddress(href);
  if (address === undefined) return <span title={href}>{children}</span>;
  return (
    <a href={address} title={address} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  );
}
