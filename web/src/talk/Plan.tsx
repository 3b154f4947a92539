import { useWords } from "../app/language";
import { VisibleText } from "../markdown/VisibleText";
import { Todos } from "../tools/cardParts";
import { todosIn } from "../tools/toolValues";

/** The agent's current to-do list. */
export function Plan({ items }: { items: readonly unknown[] | undefined }) {
  const words = useWords();
  const todos = todosIn(items ?? []);
  const done = todos.filter((todo) => todo.status === "completed").length;
  if (!todos.length || done === todos.length) return null;
  const now = todos.find((todo) => todo.status === "in_progress");
  return (
    <details className="strip plan">
      <summary>
        <progress max={todos.length} value={done} aria-label={words.plan} />
        <span>
          {words.plan} {done}/{todos.length}
        </span>
        {now && (
          <span className="muted">
            <VisibleText text={now.content} />
          </span>
        )}
      </summary>
      <Todos todos={todos} />
    </details>
  );
}
