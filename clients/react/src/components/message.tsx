// One message with its blocks. An unchanged message is the same object, and does not render again.

import type { MessageView, TextView, ToolView } from "@turnwire/client";
import { Fragment, memo, type ReactElement, type ReactNode, useState } from "react";
import { fileParts } from "../headless/file_element.js";
import { isObject, shown, textIn } from "../headless/json.js";
import { type ToolState, toolStateOf } from "../headless/tool_state.js";
import { type BlockProps, type BlockRenderers, renderedBlock } from "./block_renderers.js";
import { attachmentOf, Pictures } from "./files.js";
import { MessageRoot, ToolCardRoot } from "./message_parts.js";
import { Input, Value } from "./values.js";
import { VisibleText } from "./visible_text.js";
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
    <MessageRoot className={className} message={message}>
      {message.blocks.map((block) =>
        message.role === "user" && block.type === "text" ? (
          <Said key={block.id} block={block} render={render} />
        ) : (
          <Block key={block.id} block={block} render={render} />
        ),
      )}
      {message.error && <p role="alert">{message.error}</p>}
    </MessageRoot>
  );
});

/** A person's text, with the files in it folded. */
function Said({ block, render }: { block: TextView; render: BlockRenderers | undefined }): ReactNode {
  const parts = fileParts(block.text);
  if (!parts.some(({ name }) => name !== undefined)) return <Block block={block} render={render} />;
  return parts.map(({ name, text }, at) =>
    name === undefined ? (
      <Fragment key={at}>{render?.text?.(text, block) ?? <Text text={text} />}</Fragment>
    ) : (
      <details key={at} data-turnwire="text-file">
        <summary>
          <VisibleText text={name} />
        </summary>
        <Value text={text} />
      </details>
    ),
  );
}

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
  const words = useWords();
  const { result } = tool;
  const [isChosen, setOpen] = useState<boolean>();
  const isWaiting = toolStateOf(tool) === "waiting"; // the form of its request shows its input
  const asked = tool.request?.kind === "question" ? questionsIn(tool.input) : [];
  return (
    <ToolCardRoot
      className={className}
      tool={tool}
      isOpen={isChosen ?? !(result || isWaiting || asked.length)}
      setOpen={setOpen}
      summary={
        <>
          {tool.tool_name} <small>{wordOf(tool, words)}</small>
        </>
      }
    >
      {() => (
        <>
          {asked.length ? (
            asked.map((question, at) => (
              <p key={at}>
                <VisibleText text={question} />
              </p>
            ))
          ) : (
            <Input input={tool.input_text ?? tool.input} />
          )}
          <Value text={textOf(tool.output ?? result?.content ?? "")} />
          <Pictures of={result?.content} />
          {tool.messages?.map((message) => (
            <Message key={message.id} message={message} render={render} />
          ))}
        </>
      )}
    </ToolCardRoot>
  );
});

/** Returns the texts of the questions in the input of a call. */
function questionsIn(input: unknown): string[] {
  const all = isObject(input) && Array.isArray(input.questions) ? input.questions : [input];
  return all.flatMap((each) => textIn(each, "question", "prompt") ?? []);
}

/** Returns the word for the state of a tool call. A call that waits for a person does not run yet. */
function wordOf(tool: ToolView, words: Words): string {
  const state: ToolState = toolStateOf(tool);
  if (state === "waiting")
    return tool.request?.kind === "question" ? words.needsAnswer : words.needsPermission;
  return state === "background" ? words.inBackground : words[state];
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
