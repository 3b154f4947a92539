// The MCP servers of an agent: their status, and the actions for them.

import type { McpServer } from "@turnwire/client";
import { useEffect, useRef, useState } from "react";
import { Icon } from "../app/Icon";
import { useWords } from "../app/language";
import { lookUp } from "../app/lookup";
import { useNotices } from "../app/Notices";
import { VisibleText } from "../markdown/VisibleText";
import { POLLING_DELAYS } from "./pollingDelays";

/** A server inside of the agent's host process: it has no connection that could break. */
const HOST = "sdk";

/** The colour of the dot, by the agent's status. */
const TONES: Record<string, string> = {
  connected: "good",
  pending: "busy",
  failed: "failed",
  "needs-auth": "asks",
};

interface Props {
  all: readonly McpServer[];
  /** Asks for the status again. */
  again: () => Promise<void>;
  isAsking: boolean;
  reconnect: ((server: string) => Promise<unknown>) | undefined;
  toggle: ((server: string, enabled: boolean) => Promise<unknown>) | undefined;
}

export function McpServers({ all, again, isAsking, reconnect, toggle }: Props) {
  const words = useWords();
  const asked = useRef(0);
  const isConnecting = all.some((server) => server.status === "pending");
  useEffect(() => {
    const pause = POLLING_DELAYS[asked.current];
    if (!isConnecting || isAsking || pause === undefined) return;
    const timer = setTimeout(() => {
      asked.current += 1;
      void again();
    }, pause);
    return () => clearTimeout(timer);
  }, [isConnecting, isAsking, again]);
  const doing = async (work: Promise<unknown>) => {
    asked.current = 0;
    try {
      await work;
    } finally {
      await again();
    }
  };
  if (!all.length) return <p className="muted">{words.agentPanel.noServers}</p>;
  return (
    <ul className="servers">
      {all.map((server) => (
        <Server
          key={server.name}
          server={server}
          reconnect={reconnect && (() => doing(reconnect(server.name)))}
          toggle={toggle && ((enabled) => doing(toggle(server.name, enabled)))}
        />
      ))}
    </ul>
  );
}

interface ServerProps {
  server: McpServer;
  reconnect: (() => Promise<void>) | undefined;
  toggle: ((enabled: boolean) => Promise<void>) | undefined;
}

function Server({ server, reconnect, toggle }: ServerProps) {
  const words = useWords();
  const { reasonOf } = useNotices();
  const { name, status, error, transport, tools = [], fixed } = server;
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>();
  const refusal = problem === undefined ? undefined : reasonOf(problem);
  const isOn = status !== "disabled";
  const doing = async (work: () => Promise<void>) => {
    if (isBusy) return;
    setBusy(true);
    setProblem(undefined);
    await work().catch(setProblem);
    setBusy(false);
  };
  return (
    <li>
      <div className="line">
        <span className={`dot ${lookUp(TONES, status) ?? "calm"}`} aria-hidden="true" />
        <span className="what">
          <strong>
            <VisibleText text={name} />
          </strong>
          <small role="status">
            {lookUp(words.agentPanel.status, status) ?? status}
            {transport && ` · ${transport}`}
          </small>
        </span>
        {isBusy && <span className="spinner" aria-hidden="true" />}
        {reconnect && isOn && transport !== HOST && (
          <button
            type="button"
            className="small"
            aria-disabled={isBusy}
            aria-label={words.agentPanel.reconnectTo(name)}
            title={words.agentPanel.reconnectTo(name)}
            onClick={() => void doing(reconnect)}
          >
            <Icon name="refresh" />
            <span className="label">{words.agentPanel.reconnect}</span>
          </button>
        )}
        {toggle && !fixed && (
          <button
            type="button"
            role="switch"
            className="switch"
            aria-checked={isOn}
            aria-disabled={isBusy}
            aria-label={words.agentPanel.use(name)}
            title={words.agentPanel.use(name)}
            onClick={() => void doing(() => toggle(!isOn))}
          />
        )}
      </div>
      {error && !refusal?.includes(error) && (
        <p className="bad" dir="auto">
          <VisibleText text={error} />
        </p>
      )}
      {refusal && (
        <p className="bad" role="alert">
          <VisibleText text={refusal} />
        </p>
      )}
      {tools.length > 0 && (
        <details>
          <summary>{words.agentPanel.tools(tools.length)}</summary>
          <ul className="tools">
            {tools.map((tool) => (
              <li key={tool}>
                <code>
                  <VisibleText text={tool} />
                </code>
              </li>
            ))}
          </ul>
        </details>
      )}
    </li>
  );
}
