import { useEffect, useState } from "react";
import { Dialog } from "../app/Dialog";
import { blobPath, usePicture } from "../app/files";
import { useWords } from "../app/language";
import { safeAddress } from "../markdown/links";
import { VisibleText } from "../markdown/VisibleText";
import type { Picture } from "./toolValues";

const SHOWN = /^image\/(png|jpeg|gif|webp)$/;

export function Pictures({ pictures }: { pictures: Picture[] }) {
  if (!pictures.length) return null;
  return (
    <div className="pictures">
      {pictures.map((picture, at) => (
        <OnePicture key={at} picture={picture} />
      ))}
    </div>
  );
}

function OnePicture({ picture }: { picture: Picture }) {
  const words = useWords();
  const [own, setOwn] = useState<string>();
  const [isLarge, setLarge] = useState(false);
  const { blobId, data, mimeType } = picture;
  // Not loaded by itself: its server would learn who reads the conversation.
  const external = safeAddress(picture.url ?? "");
  const kept = usePicture(blobId && blobPath(blobId));
  const address = kept ?? own;
  useEffect(() => {
    if (blobId || !data || !SHOWN.test(mimeType)) return;
    let url: string;
    try {
      const bytes = Uint8Array.from(atob(data), (each) => each.charCodeAt(0));
      url = URL.createObjectURL(new Blob([bytes], { type: mimeType }));
    } catch {
      return; // not base64
    }
    setOwn(url);
    return () => URL.revokeObjectURL(url);
  }, [blobId, data, mimeType]);
  if (!address && external)
    return (
      <a href={external} target="_blank" rel="noopener noreferrer">
        <VisibleText text={external} />
      </a>
    );
  if (!address) return <span className="muted">{words.picture}</span>;
  return (
    <>
      <button type="button" className="picture" aria-label={words.showPicture} onClick={() => setLarge(true)}>
        <img src={address} alt={words.picture} loading="lazy" />
      </button>
      {isLarge && (
        <Dialog
          label={words.picture}
          className="lightbox"
          close={() => setLarge(false)}
          actions={
            <a href={address} target="_blank" rel="noopener noreferrer">
              {words.openPicture}
            </a>
          }
        >
          {(leave) => <img src={address} alt={words.picture} onClick={leave} />}
        </Dialog>
      )}
    </>
  );
}
