import type { BackgroundTask } from "@turnwire/client";
import { useWords } from "../app/words";
import { Unseen } from "../markdown/Unseen";

/** Work that goes on after its turn. */
export function Background({ tasks }: { tasks: readonly BackgroundTask[] | undefined }) {
  const words = useWords();
  if (!tasks?.length) return null;
  return (
    <ul className="strip background" aria-label={words.background}>
      {tasks.map((task) => (
        <li key={task.task_id}>
          <span className="spinner" aria-hidden="true" />
          {words.background}: <Unseen text={task.description ?? task.kind ?? task.task_id} />
        </li>
      ))}
    </ul>
  );
}
