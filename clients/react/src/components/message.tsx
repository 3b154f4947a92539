// One message with its blocks. An unchanged message is the same object, and does not render again.

import type { MessageView, ToolView } from "@turnwire/client";
import { memo, type ReactElement, type ReactNode } from "react";
import { shown, textIn } from "../headless/json.js";
import { type BlockProps, type BlockRenderers, renderedBlock } from "./block_renderers.js";
import { attachmentOf, Pictures } from "./files.js";
import { Input, Value } from "./values.js";
import { useWords, type Words } from "./words.js";

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

/** Shows one block of a message. */
export const Block = /* @__PURE__ */ memo(function Block({ block, render }: BlockProps): ReactNode {
  const words = useWords();
  const own = renderedBlock(block, render);
  if (own !== undefined) return own;
  switch (block.type) {
    case "text":
      return <Text text={block.text} />;
    case "thinking":
      return (
        <details data-turnwire="thinking">
          <summary>{words.thinking}</summary>
          <Text text={block.text} />
        </details>
      );
    case "tool":
      return <ToolCard tool={block} render={render} />;
    case "event":
      return <small data-turnwire="event">{block.text ?? block.subtype ?? block.name}</small>;
    default:
      // The shape of any other block is the agent's own.
      return attachmentOf(block) ?? <small data-turnwire="block">{typeOf(block.block)}</small>;
  }
});

function Text({ text }: { text: string }): ReactElement {
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
  const [state, word] = stateOf(tool, useWords());
  return (
    <details className={className} data-turnwire="tool" data-state={state} open={!result}>
      <summary>
        {tool.tool_name} <small>{word}</small>
      </summary>
      <Input input={tool.input_text ?? tool.input} />
      <Value text={textOf(tool.output ?? result?.content ?? "")} />
      <Pictures of={result?.content} />
      {tool.messages?.map((message) => (
        <Message key={message.id} message={message} render={render} />
      ))}
    </details>
  );
});

/** Returns the state of a tool call and its word. A call that waits for a person does not run yet. */
function stateOf({ result, request }: ToolView, words: Words): [state: string, word: string] {
  if (result) return result.is_error ? ["failed", words.failed] : ["done", words.done];
  if (!request || request.outcome !== undefined) return ["running", words.running];
  return ["waiting", request.kind === "question" ? words.needsAnswer : words.needsPermission];
}

/** Returns the content of a result as text, without its pictures. */
function textOf(content: unknown): string {
  if (!Array.isArray(content)) return shown(content);
  const texts = content.filter((each) => textIn(each, "type") !== "image");
  return texts.map((each) => textIn(each, "text") ?? shown(each)).join("\n");
}

function typeOf(block: unknown): string {
  const type = (block as { type?: unknown } | undefined)?.type;
  return typeof type === "string" ? type : "block";
}
