// Images of a message: choosing, pasting, dropping, and a preview before sending.
import { type ClipboardEvent, useEffect, useRef, useState } from "react";
import { Icon } from "../app/Icon";
import { useWords } from "../app/language";
import type { Attached } from "./imageUploads";
import type { TextFile } from "./textFiles";

type Take = (files: FileList | null) => void;

/**
 * Takes files, and reports files that are not images. Also takes files that are dropped on the
 * page.
 */
export function useDroppedImages(
  add: (pictures: File[]) => void,
  mayAttach: boolean,
  showNotice: (problem: string) => void,
  /** Takes the other files, if they can be taken. */
  addOthers?: (files: File[]) => void,
) {
  const words = useWords();
  const take: Take = (files) => {
    const all = [...(files ?? [])];
    const pictures = all.filter((file) => file.type.startsWith("image/"));
    const others = all.filter((file) => !pictures.includes(file));
    if (others.length && addOthers) addOthers(others);
    if (!pictures.length) return addOthers && others.length ? undefined : showNotice(words.onlyPictures);
    if (mayAttach) add(pictures);
    else showNotice(words.noPictures);
  };
  return { take, isOver: useDropped(take) };
}

/**
 * Takes files from the clipboard; its text is pasted as usual. Many programs add an image of the
 * text: ignores it without a notice.
 */
export function pasteImages(event: ClipboardEvent, take: Take, mayAttach: boolean): void {
  const { files } = event.clipboardData;
  if (!files.length) return;
  const hasWords = event.clipboardData.getData("text/plain") !== "";
  if (!hasWords) event.preventDefault();
  if (mayAttach || !hasWords) take(files);
}

/** Chooses pictures, or with `anything` also other files. */
export function AttachButton({ take, anything = false }: { take: Take; anything?: boolean }) {
  const words = useWords();
  const label = anything ? words.attachFiles : words.attach;
  return (
    <label className="quiet button" title={label}>
      <Icon name={anything ? "clip" : "image"} />
      <input
        type="file"
        accept={anything ? undefined : "image/*"}
        multiple
        className="hidden"
        aria-label={label}
        onChange={(event) => {
          take(event.target.files);
          event.target.value = ""; // so that the same file can be chosen again
        }}
      />
    </label>
  );
}

interface AttachmentsProps {
  all: Attached[];
  remove: (key: number) => void;
  texts?: readonly TextFile[];
  removeText?: (file: TextFile) => void;
}

export function Attachments({ all, remove, texts = [], removeText }: AttachmentsProps) {
  const words = useWords();
  if (!all.length && !texts.length) return null;
  return (
    <ul className="attached">
      {texts.map((file) => (
        <li key={file.key} className="text-file">
          <Icon name="file" />
          <span>{file.name}</span>
          <button
            type="button"
            className="quiet small"
            aria-label={words.removePicture(file.name)}
            onClick={() => removeText?.(file)}
          >
            <Icon name="cross" />
          </button>
        </li>
      ))}
      {all.map((each) => (
        <li key={each.key} className={each.isLoading ? "loading" : ""}>
          <img src={each.preview} alt={each.name} />
          <button
            type="button"
            className="quiet small"
            aria-label={words.removePicture(each.name)}
            onClick={() => remove(each.key)}
          >
            <Icon name="cross" />
          </button>
        </li>
      ))}
    </ul>
  );
}

/** Takes files dropped anywhere in the page, so that the browser does not open them instead. */
function useDropped(take: (files: FileList) => void): boolean {
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
