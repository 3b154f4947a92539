// Pictures and files in a message, and in the result of a tool.

import type { OtherView } from "@turnwire/client";
import type { ReactElement, ReactNode } from "react";
import { useAction } from "../headless/action.js";
import { type Picture, picturesIn, saveBlob, usePictureAddress } from "../headless/blobs.js";
import { textIn } from "../headless/json.js";
import { useTurnwire } from "../hooks.js";
import { VisibleText } from "./visible_text.js";
import { useWords } from "./words.js";

/** Shows a picture or a file; undefined for a block of another type. */
export function attachmentOf({ block, blob }: OtherView): ReactNode {
  const whole = blob ? { ...(block as object), blob } : block;
  const type = textIn(whole, "type");
  if (type === "image") return <Pictures of={whole} />;
  if (type === "file_ref") return <FileOf block={whole as FileBlock} />;
  return undefined;
}

/** Shows all pictures in a content. */
export function Pictures({ of }: { of: unknown }): ReactNode {
  return picturesIn(of).map((picture, at) => <OnePicture key={at} picture={picture} />);
}

function OnePicture({ picture }: { picture: Picture }): ReactElement {
  const words = useWords();
  const loaded = usePictureAddress(picture, useTurnwire().http);
  // A page that loads external pictures tells their servers who reads it, so a person has to ask for them.
  const external = /^https?:/.test(picture.url ?? "") ? picture.url : undefined;
  const address = loaded ?? external;
  if (address === undefined) return <small data-turnwire="block">{words.picture}</small>;
  return (
    <a href={address} target="_blank" rel="noopener noreferrer" data-turnwire="picture">
      {loaded ? <img src={loaded} alt={words.picture} /> : words.picture}
    </a>
  );
}

interface FileBlock {
  path?: unknown;
  size?: unknown;
  blob?: unknown;
}

/** Shows the name of a file; a button saves it if the server has its content. */
function FileOf({ block }: { block: FileBlock }): ReactElement {
  const words = useWords();
  const { http } = useTurnwire();
  const { run, isBusy, refusal } = useAction();
  const name = textIn(block, "path")?.split(/[/\\]/).pop() || words.file;
  const blobId = textIn(block.blob, "blob_id");
  const label = (
    <>
      <VisibleText text={name} />
      {typeof block.size === "number" && <small> {words.size(block.size)}</small>}
    </>
  );
  if (blobId === undefined) return <span data-turnwire="file">{label}</span>;
  return (
    <>
      <button
        type="button"
        data-turnwire="file"
        title={words.download(name)}
        disabled={isBusy}
        onClick={() => void run(() => saveBlob(http, blobId, name))}
      >
        {label}
      </button>
      {refusal && <p role="alert">{refusal}</p>}
    </>
  );
}
