// Converts the blocks of RPC messages into blocks of the view.
import type { BlockView, RpcBlock, TextView, ThinkingView, ToolView } from "../generated/types.js";
import { defined } from "../view/defined.js";
import type { BlockStatus } from "../view/view_parts.js";

/** Converts a block into a block of the view. */
export function shownBlock(block: RpcBlock, id: string, status: BlockStatus): BlockView {
  switch (block.type) {
    case "text":
      return defined<TextView>({ type: "text", id, status, text: block.text, citations: block.citations });
    case "thinking":
      return defined<ThinkingView>({
        type: "thinking",
        id,
        status,
        text: block.thinking,
        signature: block.signature,
        redacted: block.redacted,
      });
    case "tool_use":
      return defined<ToolView>({
        type: "tool",
        id: block.id,
        status,
        tool_name: block.toolName,
        tool_type: block.toolType,
        input: block.input ?? undefined,
        input_text: block.input_text,
      });
    default:
      return { type: "block", id, status, block };
  }
}

/** Whether a block of the view has the type of this block. */
export function isOfKind(shown: BlockView, block: RpcBlock): boolean {
  return kindOf(shown) === kindOf(shownBlock(block, "", "complete"));
}

function kindOf(shown: BlockView): string {
  if (shown.type !== "block") return shown.type;
  const block = shown.block as RpcBlock;
  return block.type === "unknown" ? `unknown/${block.originalType}` : block.type;
}
