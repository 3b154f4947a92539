// The plan of an agent in a block: its to-do list.
import type { BlockView } from "@turnwire/client";
import { kindOf } from "./toolKinds";
import { listIn, type Todo, textIn, todosIn } from "./toolValues";

/** Returns the list in the input of a tool; empty if the tool changes only one item of it. */
export function todosOf(input: unknown): Todo[] {
  return todosIn(listIn(input, "todos").length ? listIn(input, "todos") : listIn(input, "plan"));
}

/** Returns the whole plan of a block; undefined if the block has none. */
export function planIn(block: BlockView): Todo[] | undefined {
  if (block.type === "tool") {
    if (kindOf(block.tool_name, block.tool_type) !== "todo") return undefined;
    const todos = todosOf(block.input);
    return todos.length ? todos : undefined;
  }
  if (block.type !== "block" || textIn(block.block, "type") !== "todo_list") return undefined;
  return todosIn(listIn(block.block, "items"));
}
