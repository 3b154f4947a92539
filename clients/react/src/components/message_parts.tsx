// The parts of a message and of a tool call, for a page that arranges them itself.
import type { MessageView, ToolView } from "@turnwire/client";
import type { ComponentPropsWithoutRef, ReactElement, ReactNode } from "react";
import { toolStateOf } from "../headless/tool_state.js";
import { type BlockRenderers, CustomBlock } from "./block_renderers.js";

export interface MessageRootProps extends ComponentPropsWithoutRef<"article"> {
  message: MessageView;
}

/** The element around a message, or around one block of it in a long list. */
export function MessageRoot({ message, ...article }: MessageRootProps): ReactElement {
  const { role, streaming } = message;
  return <article data-turnwire="message" data-role={role} data-streaming={streaming} {...article} />;
}

export interface MessageBlocksProps {
  message: MessageView;
  /** Keep the same object between renderings, or every block renders again. */
  render: BlockRenderers;
}

/** All blocks of a message, only as `render` says: a page that uses it loads no other components. */
export function MessageBlocks({ message, render }: MessageBlocksProps): ReactNode {
  return message.blocks.map((block) => <CustomBlock key={block.id} block={block} render={render} />);
}

export interface ToolCardRootProps
  extends Omit<ComponentPropsWithoutRef<"details">, "open" | "onToggle" | "children"> {
  tool: ToolView;
  /** Whether a task of this call goes on after its turn. */
  isInBackground?: boolean;
  isOpen: boolean;
  setOpen: (isOpen: boolean) => void;
  /** Always shown. */
  summary: ReactNode;
  /** Shown while it is open: a closed card costs nothing. */
  children: () => ReactNode;
}

/** The element around a tool call: a line that opens the rest. */
export function ToolCardRoot({
  tool,
  isInBackground,
  isOpen,
  setOpen,
  summary,
  children,
  ...details
}: ToolCardRootProps): ReactElement {
  return (
    <details
      data-turnwire="tool"
      data-state={toolStateOf(tool, isInBackground)}
      data-tool={tool.id}
      {...details}
      open={isOpen}
    >
      <summary
        onClick={(event) => {
          event.preventDefault(); // the browser would open it by itself
          setOpen(!isOpen);
        }}
      >
        {summary}
      </summary>
      {isOpen && children()}
    </details>
  );
}
