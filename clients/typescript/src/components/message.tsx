// One message with its blocks. An unchanged message is the same object, and does not render again.
import { memo, type ReactElement, type ReactNode } from "react";
import type {
  BlockView,
  EventView,
  MessageView,
  OtherView,
  TextView,
  ThinkingView,
  ToolView,
} from "../generated/types.js";

/** Replace how a block is shown. Each returns what to show, or undefined for the usual. */
export interface BlockRenderers {
  /** For example Markdown. */
  text?: (text: string, block: TextView) => ReactNode;
  thinking?: (thinking: ThinkingView) => ReactNode;
  tool?: (tool: ToolView) => ReactNode;
  event?: (event: EventView) => ReactNode;
  /** A block of another type, for example a picture. */
  other?: (block: OtherView) => ReactNode;
}

export interface MessageProps {
  message: MessageView;
  /** Keep the same object between renderings, or every message renders again. */
  render?: BlockRenderers | undefined;
  className?: string;
}

/** Shows a message: its text, its thinking, its tool calls. */
export const Message = /* @__PURE__ */ memo(function Message(props: MessageProps): ReactElement {
  const { message, render, className } = props;
  return (
    <article
      className={className}
      data-turnwire="message"
      data-role={message.role}
      data-streaming={message.streaming}
    >
      {message.blocks.map((block) => (
        <Block key={block.id} block={block} render={render} />
      ))}
      {message.error && <p role="alert">{message.error}</p>}
    </article>
  );
});

export interface BlockProps {
  block: BlockView;
  render?: BlockRenderers | undefined;
}

/** Shows one block of a message. */
export const Block = /* @__PURE__ */ memo(function Block({ block, render }: BlockProps): ReactNode {
  const own = replaced(block, render);
  if (own !== undefined) return own;
  switch (block.type) {
    case "text":
      return <Words text={block.text} />;
    case "thinking":
      return (
        <details data-turnwire="thinking">
          <summary>Thinking</summary>
          <Words text={block.text} />
        </details>
      );
    case "tool":
      return <ToolCard tool={block} render={render} />;
    case "event":
      return <small data-turnwire="event">{block.text ?? block.subtype ?? block.name}</small>;
    default:
      // A picture or a file, for example: its shape is the agent's own.
      return <small data-turnwire="block">{typeOf(block.block)}</small>;
  }
});

function replaced(block: BlockView, render: BlockRenderers | undefined): ReactNode {
  switch (block.type) {
    case "text":
      return render?.text?.(block.text, block);
    case "thinking":
      return render?.thinking?.(block);
    case "tool":
      return render?.tool?.(block);
    case "event":
      return render?.event?.(block);
    default:
      return render?.other?.(block);
  }
}

function Words({ text }: { text: string }): ReactElement {
  return <p style={{ whiteSpace: "pre-wrap" }}>{text}</p>;
}

export interface ToolCardProps {
  tool: ToolView;
  render?: BlockRenderers | undefined;
  className?: string;
}

/** Shows a tool call: its input, its output, its result, and the messages of its sub-agent. */
export const ToolCard = /* @__PURE__ */ memo(function ToolCard(props: ToolCardProps): ReactElement {
  const { tool, render, className } = props;
  const { result } = tool;
  const state = result ? (result.is_error ? "failed" : "done") : "running";
  const output = tool.output ?? result?.content ?? "";
  return (
    <details className={className} data-turnwire="tool" data-state={state} open={!result}>
      <summary>
        {tool.tool_name} <small>{state}</small>
      </summary>
      <pre>{tool.input_text ?? shown(tool.input)}</pre>
      <pre>{shown(output)}</pre>
      {tool.messages?.map((message) => (
        <Message key={message.id} message={message} render={render} />
      ))}
    </details>
  );
});

function typeOf(block: unknown): string {
  const type = (block as { type?: unknown } | undefined)?.type;
  return typeof type === "string" ? type : "block";
}

/** Returns a value as text: a text as it is, anything else as JSON. */
export function shown(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
}
