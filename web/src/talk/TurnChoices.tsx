// What a person chooses for the next turns: the agent, the model, how often the agent asks, its own options.
import type { Capabilities, Status } from "@turnwire/client";
import type { ReactNode } from "react";
import { useWords } from "../app/language";
import { MenuSelect } from "../app/Menu";
import { AgentChoice } from "./AgentChoice";
import { useBypassConfirmation } from "./BypassConfirmation";
import { supportsCommand, supportsControl } from "./capabilities";
import { modeChoices } from "./permissionModes";

interface Props {
  status: Status | undefined;
  capabilities: Capabilities | undefined;
  setAgent: (agent: string) => void;
  setModel: (model: string | null) => void;
  setMode: (mode: string) => void;
  setOption: (option: string, value: string | boolean) => void;
  /** Shown behind the choices. */
  children?: ReactNode;
}

export function TurnChoices(props: Props) {
  const { status, capabilities, setAgent, setModel, setMode, setOption, children } = props;
  const words = useWords();
  const careful = useBypassConfirmation(setMode);
  const { models = [], permission_modes: modes = [] } = capabilities ?? {};
  return (
    <div className="turn-choices">
      {supportsCommand(capabilities, "session.set_agent") && status && (
        <AgentChoice
          current={status.agent ?? capabilities?.agent ?? ""}
          next={status.next_agent}
          choose={setAgent}
        />
      )}
      {supportsCommand(capabilities, "session.set_model") && models.length > 0 && (
        <MenuSelect
          label={words.model}
          all={[
            // An agent without a model of this name cannot go back to its default.
            ...(models.includes("default") || !status?.model
              ? [{ value: "", text: words.defaultModel }]
              : []),
            ...[...new Set([...(status?.model ? [status.model] : []), ...models])].map((value) => ({
              value,
              text: value,
            })),
          ]}
          chosen={status?.model ?? ""}
          choose={(model) => (model || status?.model) && setModel(model || null)}
        />
      )}
      {supportsCommand(capabilities, "session.set_permission_mode") && modes.length > 0 && (
        <div className="mode-choice">
          <MenuSelect
            label={words.permissionMode}
            all={modeChoices([status?.permission_mode ?? "", ...modes], words)}
            chosen={status?.permission_mode ?? ""}
            choose={careful.choose}
          />
        </div>
      )}
      {supportsControl(capabilities, "set_session_option") &&
        capabilities?.session_options?.map(({ option, name, values = [] }) => (
          <MenuSelect
            key={option}
            label={name ?? option}
            all={
              values.length
                ? values.map((each) => ({ value: each.value, text: each.name ?? each.value }))
                : [
                    { value: "true", text: words.switchedOn },
                    { value: "false", text: words.switchedOff },
                  ]
            }
            chosen={String(status?.session_options?.[option] ?? "")}
            choose={(value) => setOption(option, values.length ? value : value === "true")}
          />
        ))}
      {children}
      {careful.dialog}
    </div>
  );
}
