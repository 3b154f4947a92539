// Chooses the directory in which an agent works, below the directories that are open to agents.
import { useTurnwire } from "@turnwire/react";
import { useEffect, useRef, useState } from "react";
import { Dialog } from "../app/Dialog";
import { Icon } from "../app/Icon";
import { useWords } from "../app/language";
import { useNotices } from "../app/Notices";
import { VisibleText } from "../markdown/VisibleText";
import { recentDirectories } from "./recentDirectories";

interface Listed {
  /** The directory that is listed; absent: the roots are. */
  path?: string;
  /** The directory above, if it is open to agents, too. */
  parent?: string;
  directories: string[];
  has_more: boolean;
}

interface Props {
  cwd: string;
  /** The empty text is the usual directory. */
  choose: (path: string) => void;
  close: () => void;
}

export default function DirectoryPicker({ cwd, choose, close }: Props) {
  const words = useWords();
  const client = useTurnwire();
  const { reasonOf } = useNotices();
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []); // the dialog has given the focus to its close button
  const [path, setPath] = useState(cwd);
  const [listed, setListed] = useState<Listed>();
  const [problem, setProblem] = useState("");
  useEffect(() => {
    let isGone = false;
    client
      .request<Listed>("GET", `/api/directories?path=${encodeURIComponent(path.trim())}`)
      .then((told) => {
        if (isGone) return;
        setListed(told);
        setProblem("");
      })
      .catch((refused: unknown) => isGone || setProblem(reasonOf(refused)));
    return () => {
      isGone = true;
    };
  }, [client, path, reasonOf]);
  const recent = recentDirectories().filter((each) => each !== path);
  const open = (to: string) => {
    setPath(`${to.replace(/\/$/, "")}/`);
    field.current?.focus();
  };
  const list = (all: string[], label: string) => (
    <ul className="directories" aria-label={label}>
      {all.map((each) => (
        <li key={each}>
          <button type="button" className="quiet" onClick={() => open(each)}>
            <Icon name="folder" /> <VisibleText text={each} />
          </button>
        </li>
      ))}
    </ul>
  );
  return (
    <Dialog label={words.chooseDirectory.open} className="directory-picker" close={close}>
      {(leave) => (
        <form
          className="label-form"
          onSubmit={(event) => {
            event.preventDefault();
            const chosen = path.trim();
            choose(chosen.length > 1 ? chosen.replace(/\/$/, "") : chosen);
            leave();
          }}
        >
          <input
            ref={field}
            value={path}
            spellCheck={false}
            aria-label={words.chooseDirectory.path}
            placeholder={words.defaultDirectory}
            onChange={(event) => setPath(event.target.value)}
            onKeyDown={(event) => {
              const [only] = listed?.directories ?? [];
              if (event.key !== "Tab" || event.shiftKey || !only || !path.trim()) return;
              if (listed?.directories.length !== 1 || `${only}/` === path) return;
              event.preventDefault();
              open(only);
            }}
          />
          {/* Of one size: what is loaded must not move the buttons away from a press. */}
          <div className="listed">
            {problem && (
              <p className="bad" role="alert">
                {problem}
              </p>
            )}
            {!path && recent.length > 0 && (
              <>
                <h3>{words.chooseDirectory.recent}</h3>
                {list(recent, words.chooseDirectory.recent)}
              </>
            )}
            {listed && !problem && (
              <>
                {listed.path && <h3>{words.chooseDirectory.inside(listed.path)}</h3>}
                {listed.parent && (
                  <button type="button" className="quiet" onClick={() => open(listed.parent ?? "")}>
                    <Icon name="up" /> {words.chooseDirectory.up}
                  </button>
                )}
                {list(listed.directories, words.chooseDirectory.open)}
                {!listed.directories.length && <p className="muted">{words.chooseDirectory.empty}</p>}
                {listed.has_more && <p className="muted">{words.chooseDirectory.more}</p>}
              </>
            )}
          </div>
          <div className="choices">
            <button type="submit" className="primary" disabled={!path.trim() || problem !== ""}>
              {words.chooseDirectory.use}
            </button>
            <button
              type="button"
              onClick={() => {
                choose("");
                leave();
              }}
            >
              {words.chooseDirectory.usualAgain}
            </button>
          </div>
        </form>
      )}
    </Dialog>
  );
}
