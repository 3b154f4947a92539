// The panel of the agent: its context, its reasoning, its MCP servers and its budget.
import type { Capabilities, Status } from "@turnwire/client";
import { useTurnwire } from "@turnwire/client/react";
import type { ReactNode } from "react";
import { Dialog } from "../app/Dialog";
import { Icon } from "../app/Icon";
import { useNotices } from "../app/Notices";
import { useWords } from "../app/words";
import { may, mayAsk } from "../talk/able";
import { OPTIONS } from "../talk/options";
import { money } from "../words/numbers";
import { type Asked, useAsked } from "./asking";
import { Context } from "./Context";
import { Servers } from "./Servers";
import { Thinking } from "./Thinking";

/** Whether the panel has any content. */
export function hasPanel(capabilities: Capabilities | undefined, status: Status | undefined): boolean {
  return (
    mayAsk(capabilities, "mcp_status") ||
    mayAsk(capabilities, "context_usage") ||
    may(capabilities, "session.set_max_thinking_tokens") ||
    status?.budget !== undefined
  );
}

interface Props {
  id: string;
  status: Status | undefined;
  capabilities: Capabilities | undefined;
  close: () => void;
}

export function AgentPanel({ id, status, capabilities, close }: Props) {
  const words = useWords();
  const conversation = useTurnwire().conversation(id, OPTIONS);
  const hasContext = mayAsk(capabilities, "context_usage");
  const hasServers = mayAsk(capabilities, "mcp_status");
  // Each turn uses more of the context.
  const context = useAsked(conversation, "context_usage", hasContext, status?.last_turn_id);
  const servers = useAsked(conversation, "mcp_status", hasServers);
  const isAsking = context.isAsking || servers.isAsking;
  const refresh = (hasContext || hasServers) && (
    <button
      type="button"
      className="quiet"
      aria-label={words.beside.again}
      title={words.beside.again}
      aria-busy={isAsking}
      onClick={() => {
        if (isAsking) return;
        void context.again();
        void servers.again();
      }}
    >
      {isAsking ? <span className="spinner" aria-hidden="true" /> : <Icon name="refresh" />}
    </button>
  );
  return (
    <Dialog
      label={words.beside.title}
      title={capabilities?.agent ? words.beside.titleOf(capabilities.agent) : words.beside.title}
      className="agent-panel"
      actions={refresh}
      close={close}
    >
      {() => (
        <>
          {status?.budget && (
            <section aria-label={words.beside.budget}>
              <h3>{words.beside.budget}</h3>
              <progress
                max={status.budget.limit}
                value={status.budget.spent}
                aria-label={words.beside.budget}
              />
              <p>{words.beside.spent(money(status.budget.spent), money(status.budget.limit))}</p>
            </section>
          )}
          {may(capabilities, "session.set_max_thinking_tokens") && (
            <Thinking most={status?.max_thinking_tokens} choose={conversation.setMaxThinkingTokens} />
          )}
          {hasContext && (
            <section aria-label={words.beside.context}>
              <h3>{words.beside.context}</h3>
              <Answered asked={context}>{(used) => <Context used={used} />}</Answered>
            </section>
          )}
          {hasServers && (
            <section aria-label={words.beside.servers}>
              <h3>{words.beside.servers}</h3>
              <Answered asked={servers}>
                {({ servers: all }) => (
                  <Servers
                    all={all}
                    again={servers.again}
                    isAsking={servers.isAsking}
                    reconnect={
                      mayAsk(capabilities, "mcp_reconnect")
                        ? (server) => conversation.control({ control: "mcp_reconnect", server })
                        : undefined
                    }
                    toggle={
                      mayAsk(capabilities, "mcp_toggle")
                        ? (server, enabled) =>
                            conversation.control({ control: "mcp_toggle", server, enabled })
                        : undefined
                    }
                  />
                )}
              </Answered>
            </section>
          )}
        </>
      )}
    </Dialog>
  );
}

/** Shows the answer, that it is loading, or why it failed. */
function Answered<T>({ asked, children }: { asked: Asked<T>; children: (answer: T) => ReactNode }) {
  const words = useWords();
  const { reasonOf } = useNotices();
  const { answer, problem, isAsking, again } = asked;
  return (
    <>
      <p role="status" className="muted asking">
        {isAsking && answer === undefined && (
          <>
            <span className="spinner" aria-hidden="true" /> {words.beside.asking}
          </>
        )}
      </p>
      {problem !== undefined && !isAsking && (
        <div className="refused" role="alert">
          <p className="bad">{reasonOf(problem)}</p>
          <button type="button" className="small" onClick={() => void again()}>
            {words.tryAgain}
          </button>
        </div>
      )}
      {answer !== undefined && children(answer)}
    </>
  );
}
