// The panel of the agent: its context, its thinking, its MCP servers and its budget.
import type { Capabilities, Status } from "@turnwire/client";
import { useTurnwire } from "@turnwire/react";
import type { ReactNode } from "react";
import { Dialog } from "../app/Dialog";
import { Icon } from "../app/Icon";
import { useWords } from "../app/language";
import { useNotices } from "../app/Notices";
import { useContextUse } from "../composer/contextUse";
import { supportsCommand, supportsControl } from "../talk/capabilities";
import { OPTIONS } from "../talk/connectionOptions";
import { money } from "../words/numbers";
import { ContextUsage } from "./ContextUsage";
import { type ControlState, useControl } from "./controls";
import { McpServers } from "./McpServers";
import { ThinkingLimit } from "./ThinkingLimit";

interface Props {
  id: string;
  status: Status | undefined;
  capabilities: Capabilities | undefined;
  close: () => void;
}

export function AgentPanel({ id, status, capabilities, close }: Props) {
  const words = useWords();
  const conversation = useTurnwire().conversation(id, OPTIONS);
  const hasContext = supportsControl(capabilities, "context_usage");
  const hasServers = supportsControl(capabilities, "mcp_status");
  // Each turn uses more of the context.
  const context = useControl(conversation, "context_usage", hasContext, status?.last_turn_id);
  useContextUse(id, status?.last_turn_id, context.answer);
  const servers = useControl(conversation, "mcp_status", hasServers);
  const isAsking = context.isAsking || servers.isAsking;
  const refresh = (hasContext || hasServers) && (
    <button
      type="button"
      className="quiet"
      aria-label={words.agentPanel.again}
      title={words.agentPanel.again}
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
      label={words.agentPanel.title}
      title={capabilities?.agent ? words.agentPanel.titleOf(capabilities.agent) : words.agentPanel.title}
      className="agent-panel"
      actions={refresh}
      close={close}
    >
      {() => (
        <>
          {status?.budget && (
            <section aria-label={words.agentPanel.budget}>
              <h3>{words.agentPanel.budget}</h3>
              <progress
                max={status.budget.limit}
                value={status.budget.spent}
                aria-label={words.agentPanel.budget}
              />
              <p>{words.agentPanel.spent(money(status.budget.spent), money(status.budget.limit))}</p>
            </section>
          )}
          {supportsCommand(capabilities, "session.set_max_thinking_tokens") && (
            <ThinkingLimit most={status?.max_thinking_tokens} choose={conversation.setMaxThinkingTokens} />
          )}
          {hasContext && (
            <section aria-label={words.agentPanel.context}>
              <h3>{words.agentPanel.context}</h3>
              <Answered asked={context}>{(used) => <ContextUsage used={used} />}</Answered>
            </section>
          )}
          {hasServers && (
            <section aria-label={words.agentPanel.servers}>
              <h3>{words.agentPanel.servers}</h3>
              <Answered asked={servers}>
                {({ servers: all }) => (
                  <McpServers
                    all={all}
                    again={servers.again}
                    isAsking={servers.isAsking}
                    reconnect={
                      supportsControl(capabilities, "mcp_reconnect")
                        ? (server) => conversation.control({ control: "mcp_reconnect", server })
                        : undefined
                    }
                    toggle={
                      supportsControl(capabilities, "mcp_toggle")
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
function Answered<T>({ asked, children }: { asked: ControlState<T>; children: (answer: T) => ReactNode }) {
  const words = useWords();
  const { reasonOf } = useNotices();
  const { answer, problem, isAsking, again } = asked;
  return (
    <>
      <p role="status" className="muted asking">
        {isAsking && answer === undefined && (
          <>
            <span className="spinner" aria-hidden="true" /> {words.agentPanel.asking}
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
