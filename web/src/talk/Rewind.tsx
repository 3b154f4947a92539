// Restores files to their content before a message, after a preview.
import type { Conversation, Status } from "@turnwire/client";
import { useEffect, useState } from "react";
import { Dialog } from "../app/Dialog";
import { Icon } from "../app/Icon";
import { useWords } from "../app/language";
import { useNotices } from "../app/Notices";
import { Files } from "./FileNames";

interface Props {
  conversation: Conversation;
  /** The number of the message. */
  sequence: number;
  status: Status | undefined;
  /** The files that were created after it, as far as known. */
  created: readonly string[];
  close: () => void;
}

export function Rewind({ conversation, sequence, status, created, close }: Props) {
  const words = useWords();
  const { showNotice, reasonOf } = useNotices();
  const [files, setFiles] = useState<readonly string[]>();
  const [problem, setProblem] = useState<unknown>();
  const [isDoing, setDoing] = useState(false);
  useEffect(() => {
    let isGone = false;
    conversation.rewind(sequence, true).then(
      (would) => isGone || setFiles(would.files ?? []),
      (problem: unknown) => isGone || setProblem(problem),
    );
    return () => {
      isGone = true;
    };
  }, [conversation, sequence]);
  const gone = files?.filter((file) => created.includes(file)) ?? [];
  const changed = files?.filter((file) => !created.includes(file)) ?? [];
  const isBusy = status?.turn_id !== undefined;
  const restore = async (leave: () => void) => {
    if (isBusy || isDoing) return;
    setDoing(true);
    setProblem(undefined);
    try {
      const { files = [], failed = [] } = await conversation.rewind(sequence);
      showNotice(
        words.rewind.happened(files.length, failed.length, undefined),
        failed.length ? "bad" : "calm",
      );
      leave();
    } catch (problem) {
      setProblem(problem);
    }
    setDoing(false);
  };
  return (
    <Dialog label={words.rewind.title} className="rewind" close={close}>
      {(leave) => (
        <>
          <div role="status">
            {files === undefined && problem === undefined && (
              <p className="muted asking">
                <span className="spinner" aria-hidden="true" /> {words.rewind.asking}
              </p>
            )}
            {files && !files.length && <p>{words.rewind.nothing}</p>}
            {changed.length > 0 && <p>{words.rewind.would(changed.length)}</p>}
          </div>
          {changed.length > 0 && <Files files={changed} />}
          {gone.length > 0 && (
            <>
              <p className="bad">
                <Icon name="warning" /> {words.rewind.deletes(gone.length)}
              </p>
              <Files files={gone} label={words.rewind.deleted} />
            </>
          )}
          {changed.length > 0 && <p>{words.rewind.mayDelete}</p>}
          {files && <p className="muted">{words.rewind.stays}</p>}
          {files && files.length > 0 && isBusy && <p role="status">{words.rewind.busy}</p>}
          {problem !== undefined && (
            <p className="bad" role="alert">
              {reasonOf(problem)}
            </p>
          )}
          <div className="choices">
            {files && files.length > 0 && (
              <button
                type="button"
                className="primary"
                disabled={isBusy}
                aria-disabled={isDoing}
                onClick={() => void restore(leave)}
              >
                {isDoing ? <span className="spinner" aria-hidden="true" /> : <Icon name="rewind" />}
                {words.rewind.now(files.length)}
              </button>
            )}
            <button type="button" onClick={leave}>
              {files?.length ? words.cancel : words.close}
            </button>
          </div>
        </>
      )}
    </Dialog>
  );
}
