// How a page replaces what its blocks look like.

import type { BlockView, EventView, OtherView, TextView, ThinkingView, ToolView } from "@turnwire/client";
import { memo, type ReactNode } from "react";

/** Replace how a block is shown. Each returns what to show, or undefined for the usual. */
export interface BlockRenderers {
  /** For example Markdown. */
  text?: (text: string, block: TextView) => ReactNode;
  thinking?: (thinking: ThinkingView) => ReactNode;
  tool?: (tool: ToolView) => ReactNode;
  event?: (event: EventView) => ReactNode;
  /** A block of another type, for example a picture or a file. */
  other?: (block: OtherView) => ReactNode;
}

export interface BlockProps {
  block: BlockView;
  /** Keep the same object between renderings, or every block renders again. */
  render?: BlockRenderers | undefined;
}

/** Shows one block of a message, only as `render` says: a page that uses it loads no other components. */
export const CustomBlock = /* @__PURE__ */ memo(function CustomBlock(props: BlockProps): ReactNode {
  return renderedBlock(props.block, props.render);
});

/** Returns what `render` shows for the block; undefined for the usual. */
export function renderedBlock(block: BlockView, render: BlockRenderers | undefined): ReactNode {
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
