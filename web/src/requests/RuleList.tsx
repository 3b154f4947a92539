// The permission rules that people gave with "Always": of one conversation, or of all of them.
import { useTurnwire } from "@turnwire/react";
import { useCallback, useEffect, useState } from "react";
import { useWords } from "../app/language";
import { useNameOf } from "../app/me";
import { useNotices } from "../app/Notices";
import { linkTo } from "../app/navigation";
import { notifyChange, useChanges } from "../app/serverChanges";
import { VisibleText } from "../markdown/VisibleText";
import { textIn } from "../tools/toolValues";
import { wholeTime } from "../words/times";
import { rulesIn } from "./suggestedRules";

interface GivenRule {
  conversation_id: string;
  rule_id: string;
  agent: string;
  rule: unknown;
  given_at: string;
  kept_by: string;
  same_input: boolean;
  by?: string;
  title?: string;
}

/** Rules that are loaded together. */
const PAGE = 50;

interface Props {
  /** A conversation; undefined: all of them, each rule with a link. */
  id?: string;
}

export function RuleList({ id }: Props) {
  const words = useWords();
  const nameOf = useNameOf();
  const client = useTurnwire();
  const { reasonOf, showingRefusal } = useNotices();
  const [rules, setRules] = useState<GivenRule[]>();
  const [problem, setProblem] = useState<unknown>();
  const [limit, setLimit] = useState(PAGE);
  const [sure, setSure] = useState<string>();
  const path = id === undefined ? `/api/rules?limit=${limit}` : rulesOf(id);
  const load = useCallback(
    () =>
      client.request<{ rules: GivenRule[] }>("GET", path).then(
        (found) => {
          setRules(found.rules);
          setProblem(undefined);
        },
        (error: unknown) => setProblem(error),
      ),
    [client, path],
  );
  useEffect(() => void load(), [load]);
  useChanges(load, true);
  const takeBack = async (rule: GivenRule) => {
    setSure(undefined);
    const address = `${rulesOf(rule.conversation_id)}/${encodeURIComponent(rule.rule_id)}`;
    await showingRefusal(client.request("DELETE", address));
    notifyChange();
    await load();
  };
  if (problem !== undefined)
    return (
      <div className="refused" role="alert">
        <p className="bad">{reasonOf(problem)}</p>
        <button type="button" className="small" onClick={() => void load()}>
          {words.tryAgain}
        </button>
      </div>
    );
  if (!rules) return null;
  if (!rules.length) return <p className="muted">{words.givenRules.none}</p>;
  return (
    <>
      <ul className="given-rules">
        {rules.map((rule) => {
          const name = `${rule.conversation_id} ${rule.rule_id}`;
          const said = rulesIn([rule.rule], words).join(", ");
          const isSettings = ![undefined, "session"].includes(textIn(rule.rule, "destination"));
          const isKeptThere = rule.kept_by === "agent" && isSettings;
          return (
            <li key={name}>
              <p>
                <VisibleText text={said} />
                {rule.same_input && <> · {words.givenRules.sameInput}</>}
              </p>
              <p className="muted">
                <VisibleText
                  text={words.givenRules.given(
                    rule.by && nameOf(rule.by),
                    wholeTime(rule.given_at, words),
                    rule.agent,
                  )}
                />
                {id === undefined && (
                  <>
                    {" · "}
                    <a {...linkTo({ name: "talk", id: rule.conversation_id })}>
                      <VisibleText text={rule.title ?? words.untitled()} />
                    </a>
                  </>
                )}
              </p>
              {rule.kept_by === "agent" && (
                <p className="muted">
                  {isKeptThere
                    ? words.givenRules.inSettings(rule.agent)
                    : words.givenRules.inProcess(rule.agent)}
                </p>
              )}
              {!isKeptThere && sure !== name && (
                <button type="button" className="small" onClick={() => setSure(name)}>
                  {words.givenRules.takeBack}
                </button>
              )}
              {sure === name && (
                <div className="buttons" role="group" aria-label={words.givenRules.takeBack}>
                  <span>{words.givenRules.warning}</span>
                  <button type="button" className="small" autoFocus onClick={() => void takeBack(rule)}>
                    {words.givenRules.sure}
                  </button>
                  <button type="button" className="quiet small" onClick={() => setSure(undefined)}>
                    {words.back}
                  </button>
                </div>
              )}
            </li>
          );
        })}
      </ul>
      {id === undefined && rules.length === limit && limit < 500 && (
        <button type="button" className="small" onClick={() => setLimit(Math.min(500, limit + PAGE))}>
          {words.givenRules.more}
        </button>
      )}
    </>
  );
}

function rulesOf(id: string): string {
  return `/api/conversations/${encodeURIComponent(id)}/rules`;
}
