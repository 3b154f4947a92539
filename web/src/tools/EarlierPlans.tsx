import type { BlockView } from "@turnwire/client";
import { useWords } from "../app/language";
import { Todos } from "./cardParts";
import { planIn } from "./plans";

/** The versions of a plan before the one that its card shows. */
export function EarlierPlans({ blocks }: { blocks: readonly BlockView[] | undefined }) {
  const words = useWords();
  if (!blocks?.length) return null;
  return (
    <details className="earlier-plans">
      <summary>{words.earlierPlans(blocks.length)}</summary>
      {blocks.map((block) => (
        <Todos key={block.id} todos={planIn(block) ?? []} />
      ))}
    </details>
  );
}
