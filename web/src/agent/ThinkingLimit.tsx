import { useState } from "react";
import { useWords } from "../app/language";
import { MenuSelect } from "../app/Menu";
import { useNotices } from "../app/Notices";

/** Tokens; the last is the maximum of some models. */
const CHOICES = [0, 4_000, 10_000, 31_999];
const USUAL = "";
const OTHER = "other";

interface Props {
  /** Absent: the initial value. */
  most: number | undefined;
  choose: (most: number | null) => Promise<unknown>;
}

/** How much the agent may reason before it answers. */
export function ThinkingLimit({ most, choose }: Props) {
  const words = useWords();
  const { reasonOf } = useNotices();
  const [isOther, setOther] = useState(false);
  const [problem, setProblem] = useState<unknown>();
  const set = async (to: number | null) => {
    setOther(false);
    setProblem(undefined);
    await choose(to).catch(setProblem);
  };
  const amount = (tokens: number) =>
    tokens ? words.agentPanel.atMost(tokens.toLocaleString(words.locale)) : words.agentPanel.noThinking;
  const offered = [...new Set([...CHOICES, ...(most === undefined ? [] : [most])])].sort((a, b) => a - b);
  return (
    <section aria-label={words.agentPanel.thinking}>
      <h3>{words.agentPanel.thinking}</h3>
      <div className="thinking-choice">
        <MenuSelect
          label={words.agentPanel.thinking}
          all={[
            { value: USUAL, text: words.agentPanel.asBegun },
            ...offered.map((each) => ({ value: String(each), text: amount(each) })),
            { value: OTHER, text: words.agentPanel.otherNumber },
          ]}
          chosen={isOther ? OTHER : String(most ?? USUAL)}
          choose={(value) => {
            if (value === OTHER) setOther(true);
            else void set(value === USUAL ? null : Number(value));
          }}
        />
        {isOther && (
          <form
            onSubmit={(event) => {
              event.preventDefault();
              void set(Number(new FormData(event.currentTarget).get("most")));
            }}
          >
            <input
              autoFocus
              name="most"
              type="number"
              inputMode="numeric"
              required
              min={0}
              step={1}
              defaultValue={most}
              aria-label={words.agentPanel.tokens}
              placeholder={words.agentPanel.tokens}
            />
            <button type="submit">{words.save}</button>
          </form>
        )}
      </div>
      <p className="muted">{words.agentPanel.thinkingHint}</p>
      {problem !== undefined && (
        <p className="bad" role="alert">
          {reasonOf(problem)}
        </p>
      )}
    </section>
  );
}
