// The parts of a composer, for a page that arranges them itself. The behaviour is that of `useComposer`.
import {
  type ComponentPropsWithoutRef,
  createContext,
  type ReactElement,
  type ReactNode,
  type Ref,
  useContext,
} from "react";
import { pasteFiles, type UsedAttachments } from "../headless/attachments.js";
import type { Draft, UsedComposer, UsedStop } from "../headless/composer.js";
import { useWords } from "./words.js";

/** What the parts share. */
export interface CurrentComposer {
  readonly composer: UsedComposer;
  readonly draft: Draft;
  readonly files: UsedAttachments;
  /** Stops the running turn; absent: there is no such button. */
  readonly stop?: UsedStop | undefined;
  /** Whether the conversation takes no messages. */
  readonly isClosed?: boolean | undefined;
}

const Context = /* @__PURE__ */ createContext<CurrentComposer | undefined>(undefined);

/** Returns what the nearest ComposerRoot was given. */
export function useCurrentComposer(): CurrentComposer {
  const current = useContext(Context);
  if (!current) throw new Error("There is no composer: put <ComposerRoot> around it.");
  return current;
}

export interface ComposerRootProps
  extends CurrentComposer,
    Omit<ComponentPropsWithoutRef<"form">, "onSubmit"> {}

/** The form around the parts. */
export function ComposerRoot({
  composer,
  draft,
  files,
  stop,
  isClosed,
  ...form
}: ComposerRootProps): ReactElement {
  return (
    <Context.Provider value={{ composer, draft, files, stop, isClosed }}>
      <form
        data-turnwire="composer"
        {...form}
        onSubmit={(event) => {
          event.preventDefault();
          void composer.submit();
        }}
      />
    </Context.Provider>
  );
}

export interface ComposerFieldProps
  extends Omit<ComponentPropsWithoutRef<"textarea">, "value" | "defaultValue" | "children"> {
  fieldRef?: Ref<HTMLTextAreaElement> | undefined;
}

/** The text of the message. Your handlers of keys and pastes run first; one that prevents the default replaces ours. */
export function ComposerField({
  fieldRef,
  onChange,
  onKeyDown,
  onPaste,
  ...field
}: ComposerFieldProps): ReactElement {
  const words = useWords();
  const { composer, draft, files, isClosed } = useCurrentComposer();
  return (
    <textarea
      ref={fieldRef}
      name="words"
      aria-label={words.message}
      placeholder={words.message}
      rows={Math.min(10, draft.text.split("\n").length)}
      dir="auto"
      {...field}
      value={draft.text}
      onChange={(event) => {
        draft.write(event.target.value);
        onChange?.(event);
      }}
      onKeyDown={(event) => {
        onKeyDown?.(event);
        if (!event.isDefaultPrevented() && !(isClosed && event.key === "Enter")) composer.pressed(event);
      }}
      onPaste={(event) => {
        onPaste?.(event);
        if (!event.isDefaultPrevented()) pasteFiles(event, files);
      }}
    />
  );
}

/** Without children, the button shows its words. An icon instead is named by them. */
type ButtonProps = Omit<ComponentPropsWithoutRef<"button">, "type" | "onClick">;

/** Sends the message, or puts it into the queue while a turn runs. */
export function ComposerSend({ children, ...button }: ButtonProps): ReactElement {
  const words = useWords();
  const { composer, isClosed } = useCurrentComposer();
  const name = composer.isRunning ? words.sendLater : words.send;
  return (
    <button type="submit" title={name} aria-label={name} disabled={composer.isEmpty || isClosed} {...button}>
      {children ?? words.send}
    </button>
  );
}

/** Sends the message into the running turn; nothing, if the agent cannot take it there. */
export function ComposerSteer({ children, ...button }: ButtonProps): ReactNode {
  const { addToTurn } = useWords();
  const { composer, isClosed } = useCurrentComposer();
  if (!composer.maySteer || isClosed) return null;
  return (
    <button
      type="button"
      title={addToTurn}
      aria-label={addToTurn}
      disabled={composer.isEmpty}
      {...button}
      onClick={() => void composer.submit(true)}
    >
      {children ?? addToTurn}
    </button>
  );
}

/** Stops the running turn; nothing, if none runs. */
export function ComposerStop({ children, ...button }: ButtonProps): ReactNode {
  const words = useWords();
  const { composer, stop } = useCurrentComposer();
  if (!stop || !composer.isRunning) return null;
  const name = stop.isStopping ? words.stopping : words.stop;
  return (
    <button
      type="button"
      title={name}
      disabled={stop.isStopping}
      {...button}
      onClick={() => void stop.stop()}
    >
      {children ?? name}
    </button>
  );
}

export interface AttachButtonProps extends Omit<ComponentPropsWithoutRef<"label">, "children"> {
  take: (files: FileList | null) => void;
  /** Shown before the field of the browser, for example an icon. Absent: its words, which our style sheet shows. */
  children?: ReactNode;
}

/** Chooses files. It also works without a ComposerRoot, for example on a page that begins a conversation. */
export function AttachButton({ take, children, ...label }: AttachButtonProps): ReactElement {
  const { attach } = useWords();
  return (
    <label data-turnwire="attach" title={attach} {...label}>
      {children ?? <span hidden>{attach}</span> /* a style sheet shows it instead of the browser's field */}
      <input
        type="file"
        multiple
        aria-label={attach}
        onChange={(event) => {
          take(event.target.files);
          event.target.value = ""; // so that the same file can be chosen again
        }}
      />
    </label>
  );
}

/** A file of the next message. */
export interface AttachedItem {
  readonly name: string;
  /** In bytes; a text is a part of the message and has none. */
  readonly size?: number | undefined;
  /** The address of a picture. */
  readonly preview?: string | undefined;
}

export interface AttachedFilesProps extends Omit<ComponentPropsWithoutRef<"ul">, "children"> {
  files: UsedAttachments;
  /** Shows a file; absent: its picture or its name. */
  children?: (file: AttachedItem) => ReactNode;
  /** In the button that removes a file, for example an icon. */
  removeIcon?: ReactNode;
  removeClassName?: string | undefined;
}

/** The files of the next message, each with a button to remove it; nothing, if there are none. */
export function AttachedFiles({
  files: { uploads, texts },
  children = picture,
  removeIcon = "×",
  removeClassName,
  ...list
}: AttachedFilesProps): ReactNode {
  const words = useWords();
  if (!uploads.all.length && !texts.all.length) return null;
  const remover = (name: string, remove: () => void) => {
    const label = words.remove(name);
    return (
      <button type="button" className={removeClassName} aria-label={label} title={label} onClick={remove}>
        {removeIcon}
      </button>
    );
  };
  return (
    <ul data-turnwire="attached" {...list}>
      {texts.all.map((file) => (
        <li key={`text-${file.key}`} data-kind="file">
          {children(file)} {remover(file.name, () => texts.remove(file))}
        </li>
      ))}
      {uploads.all.map(({ key, name, preview, file, isLoading }) => (
        <li key={key} data-kind={preview ? "picture" : "file"} aria-busy={isLoading}>
          {children({ name, preview, size: file.size })} {remover(name, () => uploads.remove(key))}
        </li>
      ))}
    </ul>
  );
}

function picture({ name, preview }: AttachedItem): ReactNode {
  return preview ? <img src={preview} alt={name} /> : name;
}
