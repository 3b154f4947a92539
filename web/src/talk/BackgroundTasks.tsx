import type { BackgroundTask } from "@turnwire/client";
import { useState } from "react";
import { focusComposerIfLost } from "../app/focus";
import { Icon } from "../app/Icon";
import { useWords } from "../app/language";
import { VisibleText } from "../markdown/VisibleText";

interface Props {
  tasks: readonly BackgroundTask[] | undefined;
  /** Resolves with undefined if it is refused. Absent: the agent cannot stop tasks. */
  stop?: ((taskId: string) => Promise<unknown>) | undefined;
}

/** Background work that continues after its turn, with a button to stop it. */
export function BackgroundTasks({ tasks, stop }: Props) {
  const words = useWords();
  /** The tasks that are stopping. */
  const [stopping, setStopping] = useState<ReadonlySet<string>>(new Set());
  if (!tasks?.length) return null;
  const end = async (taskId: string) => {
    setStopping((now) => new Set([...now, taskId]));
    const done = await stop?.(taskId);
    if (done === undefined) setStopping((now) => new Set([...now].filter((each) => each !== taskId)));
    else focusComposerIfLost(); // its button was removed
  };
  return (
    <ul className="strip background" aria-label={words.background}>
      {tasks.map(({ task_id, description, kind }) => {
        const isStopping = stopping.has(task_id);
        const about = description ?? kind ?? task_id;
        return (
          <li key={task_id}>
            <span className="spinner" aria-hidden="true" />
            <span className="about">
              {words.background}: <VisibleText text={about} />
            </span>
            {stop && (
              <button
                type="button"
                className="quiet small"
                disabled={isStopping}
                aria-label={isStopping ? words.stoppingTask(about) : words.stopTask(about)}
                onClick={() => void end(task_id)}
              >
                <Icon name="stop" /> {isStopping ? words.stopping : words.stop}
              </button>
            )}
          </li>
        );
      })}
    </ul>
  );
}
