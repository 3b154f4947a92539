// Pictures and files of a message: choosing them, and a preview before sending.
import { AttachButton as AnyAttachButton, AttachedFiles } from "@turnwire/react";
import { useEffect, useRef, useState } from "react";
import { Icon } from "../app/Icon";
import { byteCount } from "../words/numbers";
import type { Attachable } from "./messageFiles";

export { pasteFiles } from "@turnwire/react";

type Take = (files: FileList | null) => void;

/** Chooses pictures, texts and other files. */
export function AttachButton({ take }: { take: Take }) {
  return (
    <AnyAttachButton take={take} className="quiet button">
      <Icon name="clip" />
    </AnyAttachButton>
  );
}

export function Attachments({ of }: { of: Attachable }) {
  return (
    <AttachedFiles
      files={of}
      className="attached"
      removeClassName="quiet small"
      removeIcon={<Icon name="cross" />}
    >
      {({ name, size, preview }) =>
        preview ? (
          <img src={preview} alt={name} />
        ) : (
          <>
            <Icon name="file" />
            <span title={name}>{name}</span>
            {size !== undefined && <small className="muted">{byteCount(size)}</small>}
          </>
        )
      }
    </AttachedFiles>
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
