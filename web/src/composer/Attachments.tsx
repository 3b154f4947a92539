// Images of a message: choosing, pasting, dropping, and a preview before sending.
import { type ClipboardEvent, useEffect, useRef, useState } from "react";
import { Icon } from "../app/Icon";
import { useWords } from "../app/language";
import type { Attached } from "./imageUploads";

type Take = (files: FileList | null) => void;

/**
 * Takes files, and reports files that are not images. Also takes files that are dropped on the
 * page.
 */
export function useDroppedImages(
  add: (pictures: File[]) => void,
  mayAttach: boolean,
  showNotice: (problem: string) => void,
) {
  const words = useWords();
  const take: Take = (files) => {
    const pictures = [...(files ?? [])].filter((file) => file.type.startsWith("image/"));
    if (!pictures.length) return showNotice(words.onlyPictures);
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

export function AttachButton({ take }: { take: Take }) {
  const words = useWords();
  return (
    <label className="quiet button" title={words.attach}>
      <Icon name="image" />
      <input
        type="file"
        accept="image/*"
        multiple
        className="hidden"
        aria-label={words.attach}
        onChange={(event) => {
          take(event.target.files);
          event.target.value = ""; // so that the same file can be chosen again
        }}
      />
    </label>
  );
}

export function Attachments({ all, remove }: { all: Attached[]; remove: (key: number) => void }) {
  const words = useWords();
  if (!all.length) return null;
  return (
    <ul className="attached">
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
