// The permission mode in which an agent never asks: a person must confirm it first.
import { type ReactNode, useState } from "react";
import { Dialog } from "../app/Dialog";
import { Icon } from "../app/Icon";
import { useWords } from "../app/language";

/** The modes that allow everything. */
const BYPASS = ["bypassPermissions", "full-access"];

interface BypassConfirmation {
  /** Sets a mode, directly or after the person has confirmed it. */
  choose: (mode: string) => void;
  /** The confirmation, while it is open. */
  dialog: ReactNode;
}

/** Asks for confirmation before the mode that allows everything. */
export function useBypassConfirmation(choose: (mode: string) => void): BypassConfirmation {
  const words = useWords();
  const [asked, setAsked] = useState<string>();
  const dialog = asked !== undefined && (
    <Dialog label={words.bypass.title} className="bypass" close={() => setAsked(undefined)}>
      {(leave) => (
        <>
          <p>{words.bypass.text}</p>
          <p className="muted">{words.bypass.hint}</p>
          <div className="choices">
            <button
              type="button"
              className="danger"
              onClick={() => {
                choose(asked);
                leave();
              }}
            >
              <Icon name="warning" /> {words.bypass.yes}
            </button>
            <button type="button" onClick={leave}>
              {words.cancel}
            </button>
          </div>
        </>
      )}
    </Dialog>
  );
  return { choose: (mode) => (BYPASS.includes(mode) ? setAsked(mode) : choose(mode)), dialog };
}
