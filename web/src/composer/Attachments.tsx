// Pictures and files of a message: choosing, pasting, and a preview before sending.
import { useEffect, useRef, useState } from "react";
import { Icon } from "../app/Icon";
import { useWords } from "../app/language";
import { byteCount } from "../words/numbers";
import type { Attachable } from "./messageFiles";

export { pasteFiles } from "@turnwire/react";

type Take = (files: FileList | null) => void;

/** Chooses pictures, texts and other files. */
export function AttachButton({ take }: { take: Take }) {
  const words = useWords();
  return (
    <label className="quiet button" title={words.attachFiles}>
      <Icon name="clip" />
      <input
        type="file"
        multiple
        className="hidden"
        aria-label={words.attachFiles}
        onChange={(event) => {
          take(event.target.files);
          event.target.value = ""; // so that the same file can be chosen again
        }}
      />
    </label>
  );
}

export function Attachments({ of: { uploads, texts } }: { of: Attachable }) {
  if (!uploads.all.length && !texts.all.length) return null;
  return (
    <ul className="attached">
      {texts.all.map((file) => (
        <li key={`text-${file.key}`} className="text-file">
          <FileName name={file.name} />
          <RemoveButton name={file.name} remove={() => texts.remove(file)} />
        </li>
      ))}
      {uploads.all.map(({ key, name, preview, file, isLoading }) => (
        <li key={key} className={`${preview ? "" : "text-file"}${isLoading ? " loading" : ""}`}>
          {preview ? <img src={preview} alt={name} /> : <FileName name={name} size={file.size} />}
          <RemoveButton name={name} remove={() => uploads.remove(key)} />
        </li>
      ))}
    </ul>
  );
}

function FileName({ name, size }: { name: string; size?: number }) {
  return (
    <>
      <Icon name="file" />
      <span title={name}>{name}</span>
      {size !== undefined && <small className="muted">{byteCount(size)}</small>}
    </>
  );
}

function RemoveButton({ name, remove }: { name: string; remove: () => void }) {
  const words = useWords();
  return (
    <button type="button" className="quiet small" aria-label={words.removePicture(name)} onClick={remove}>
      <Icon name="cross" />
    </button>
  );
}

/** Takes files dropped anywhere in the page, so that the browser does not open them instead. */
export function useDropped(take: Take): boolean {
  const [isOver, setOver] = useState(false);
  const latest = useRef(take);
  latest.current = take;
  useEffect(() => {
    const over = (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      setOver(true);
    };
    const drop = (event: DragEvent) => {
      setOver(false);
      if (!event.dataTransfer?.files.length) return;
      event.preventDefault();
      latest.current(event.dataTransfer.files);
    };
    const leave = (event: DragEvent) => event.relatedTarget === null && setOver(false);
    addEventListener("dragover", over);
    addEventListener("drop", drop);
    addEventListener("dragleave", leave);
    return () => {
      removeEventListener("dragover", over);
      removeEventListener("drop", drop);
      removeEventListener("dragleave", leave);
    };
  }, []);
  return isOver;
}
