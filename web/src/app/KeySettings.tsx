// The settings of the keyboard: each shortcut with its key, which can be changed, switched off and restored.
import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { readStored, store } from "./browserStorage";
import { Icon } from "./Icon";
import { useKeyWords } from "./keyWords";
import { GROUPS, type GroupOfKeys, WritingKeys } from "./ShortcutHelp";
import {
  DEFAULTS,
  isPossible,
  keyOf,
  labelOf,
  SHORTCUTS,
  type Shortcut,
  STORED,
  storedKeys,
  useShortcuts,
} from "./shortcuts";

const ALL = Object.keys(GROUPS) as GroupOfKeys[];
/** Keys that are held with another one, or that begin a sign. */
const UNFINISHED = /^(Shift|Control|Alt|AltGraph|Meta|CapsLock|Fn.*|Dead|Process|Unidentified)$/;

interface Problem {
  name: Shortcut;
  text: string;
}

/** Changes the key of a shortcut, or switches it off. Undefined restores the usual key. */
function changeKey(name: Shortcut, key: string | null | undefined): void {
  const changed: Partial<Record<Shortcut, unknown>> = {};
  const before = storedKeys(readStored(STORED));
  for (const each of SHORTCUTS) if (each in before) changed[each] = before[each];
  if (key === undefined || key === DEFAULTS[name]) delete changed[name];
  else changed[name] = key;
  store(STORED, Object.keys(changed).length ? JSON.stringify(changed) : null);
}

const restoreKeys = () => store(STORED, null);

/** What needs a key that cannot be a shortcut. */
function needOf(key: string): "browser" | "typing" {
  if (/^(Mod\+|Alt\+|Shift\+)*F\d+$/.test(key)) return "browser";
  const isNamed = !/(^|\+)\S$/.test(key);
  return isNamed || /^Mod\+([acvxyz]$|Alt)|[^ -~]$/.test(key) ? "typing" : "browser";
}

export function KeySettings() {
  const keys = useShortcuts();
  /** The shortcut whose new key is awaited. */
  const [awaited, setAwaited] = useState<Shortcut>();
  const [problem, setProblem] = useState<Problem>();
  const [told, setTold] = useState("");
  const list = useRef<HTMLDivElement>(null);
  /** The shortcut whose button gets the focus, because its other button is removed. */
  const focused = useRef<Shortcut>(undefined);
  useEffect(() => {
    if (awaited !== undefined || focused.current === undefined) return;
    list.current?.querySelector<HTMLElement>(`[data-shortcut="${focused.current}"]`)?.focus();
    focused.current = undefined;
  });
  const text = useKeyWords();

  /** Changes a key, unless another shortcut has it. */
  const change = (name: Shortcut, key: string | null | undefined) => {
    const wanted = key === undefined ? DEFAULTS[name] : key;
    const holder = SHORTCUTS.find((each) => each !== name && wanted !== null && keys[each] === wanted);
    const isFree = wanted === null || wanted === DEFAULTS[name] || isPossible(wanted);
    if (wanted !== null && (holder || !isFree)) {
      const label = labelOf(wanted);
      const why = holder ? text.taken(label, text.names[holder]) : text.refused[needOf(wanted)](label);
      return setProblem({ name, text: why });
    }
    focused.current = name;
    setProblem(undefined);
    setAwaited(undefined);
    changeKey(name, key);
    const what = text.names[name];
    setTold(wanted === null ? text.isOff(what) : text.changed(what, labelOf(wanted)));
  };
  const cancel = () => {
    setAwaited(undefined);
    setProblem(undefined);
  };
  const isChanged = SHORTCUTS.some((name) => keys[name] !== DEFAULTS[name]);
  return (
    <div className="key-settings" ref={list}>
      <p className="muted">{text.hint}</p>
      <p className="hidden" role="status">
        {told}
      </p>
      {ALL.map((group) => (
        <section key={group} aria-labelledby={`keys-${group}`}>
          <h3 id={`keys-${group}`}>{text.groups[group]}</h3>
          <ul>
            {GROUPS[group].map((name) => (
              <li key={name}>
                <Row
                  name={name}
                  isAwaited={awaited === name}
                  problem={problem?.name === name ? problem.text : undefined}
                  wait={() => {
                    setProblem(undefined);
                    setAwaited(name);
                  }}
                  cancel={cancel}
                  change={(key) => change(name, key)}
                  keepFocus={() => {
                    focused.current = name;
                  }}
                />
              </li>
            ))}
          </ul>
        </section>
      ))}
      <button
        type="button"
        disabled={!isChanged}
        onClick={() => {
          cancel();
          restoreKeys();
          setTold(text.allRestored);
        }}
      >
        <Icon name="rewind" /> {text.restoreAll}
      </button>
      <div className="help">
        <WritingKeys />
      </div>
    </div>
  );
}

interface RowProps {
  name: Shortcut;
  isAwaited: boolean;
  /** Why a key is refused. */
  problem: string | undefined;
  wait: () => void;
  cancel: () => void;
  /** Null switches the shortcut off, undefined restores its usual key. */
  change: (key: string | null | undefined) => void;
  keepFocus: () => void;
}

function Row({ name, isAwaited, problem, wait, cancel, change, keepFocus }: RowProps) {
  const key = useShortcuts()[name];
  const id = useId();
  const text = useKeyWords();
  const what = text.names[name];
  const isUsual = key === DEFAULTS[name];
  const usual = labelOf(DEFAULTS[name]);
  return (
    <>
      <span className="name">{what}</span>
      {isAwaited ? (
        <NewKey
          name={text.newKey(what)}
          about={`${id}-about`}
          take={change}
          cancel={cancel}
          keepFocus={keepFocus}
        />
      ) : (
        <button
          type="button"
          className="key"
          data-shortcut={name}
          aria-label={text.change(what, key === null ? text.off : labelOf(key))}
          title={text.change(what, key === null ? text.off : labelOf(key))}
          onClick={wait}
        >
          {key === null ? <span className="muted">{text.off}</span> : <kbd>{labelOf(key)}</kbd>}
        </button>
      )}
      <span className="key-actions">
        {!isUsual && (
          <button
            type="button"
            className="quiet small"
            aria-label={text.restore(what, usual)}
            title={text.restore(what, usual)}
            onClick={() => change(undefined)}
          >
            <Icon name="rewind" />
          </button>
        )}
        {key !== null && (
          <button
            type="button"
            className="quiet small"
            aria-label={text.switchOff(what)}
            title={text.switchOff(what)}
            onClick={() => change(null)}
          >
            <Icon name="cross" />
          </button>
        )}
      </span>
      {isAwaited && !problem && (
        <p id={`${id}-about`} className="muted">
          {text.press}
        </p>
      )}
      {problem && (
        <p id={`${id}-about`} className="bad" role="alert">
          {problem}
        </p>
      )}
    </>
  );
}

interface NewKeyProps {
  name: string;
  about: string;
  take: (key: string) => void;
  cancel: () => void;
  keepFocus: () => void;
}

/** Waits for a key. It is a field, so that a screen reader lets all keys through, and a phone shows its keyboard. */
function NewKey({ name, about, take, cancel, keepFocus }: NewKeyProps) {
  const field = useRef<HTMLInputElement>(null);
  const leave = useRef(cancel);
  leave.current = cancel;
  useEffect(() => {
    // Not when the focus is lost: the rows would move before the button that is clicked has got its click.
    const away = (event: MouseEvent) => event.target !== field.current && leave.current();
    addEventListener("click", away, true);
    return () => removeEventListener("click", away, true);
  }, []);
  const pressed = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing || UNFINISHED.test(event.key)) return;
    if (event.key === "Tab") return cancel(); // it moves the focus, as always
    event.preventDefault();
    event.stopPropagation();
    if (event.repeat) return;
    if (event.key !== "Escape") return take(keyOf(event));
    keepFocus();
    cancel();
  };
  return (
    <input
      ref={field}
      autoFocus
      type="text"
      className="key"
      autoCapitalize="none"
      autoComplete="off"
      aria-label={name}
      aria-describedby={about}
      placeholder="…"
      value=""
      onKeyDown={pressed}
      onChange={(event) => {
        const sign = event.target.value.at(-1); // of a keyboard on the screen
        if (sign) take(sign.toLowerCase());
      }}
    />
  );
}
