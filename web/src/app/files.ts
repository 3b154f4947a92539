// Files of the server: blobs and exports. The page fetches them, because a link or an image cannot
// send the page key.
import { pageHeaders } from "@turnwire/client";
import { useEffect, useState } from "react";

const SHOWN = /^image\/(png|jpeg|gif|webp)$/;

/** The secret of the share link that this page shows. */
let shareSecret: string | undefined;

/** Loads the files of a share link from now on, instead of those of a signed-in user. */
export function loadSharedFiles(secret: string): void {
  shareSecret = secret;
}

export function blobPath(blobId: string): string {
  return `api/${shareSecret === undefined ? "" : "shared/"}blobs/${encodeURIComponent(blobId)}`;
}

async function load(path: string): Promise<Response> {
  const headers =
    shareSecret === undefined ? pageHeaders(document.baseURI) : { Authorization: `Bearer ${shareSecret}` };
  const answer = await fetch(document.baseURI + path, { headers });
  if (!answer.ok) throw new Error(`The server answered ${answer.status}.`);
  return answer;
}

export async function loadBlob(blobId: string): Promise<Blob> {
  return (await load(blobPath(blobId))).blob();
}

/** Returns an object URL of an image; undefined until it is loaded. */
export function usePicture(path: string | undefined): string | undefined {
  const [address, setAddress] = useState<string>();
  useEffect(() => {
    if (path === undefined) return;
    let url: string | undefined;
    let isGone = false;
    load(path)
      .then((answer) => answer.blob())
      .then((blob) => {
        if (isGone) return;
        // An object URL has the origin of the page, so it must not be anything but an image.
        url = URL.createObjectURL(SHOWN.test(blob.type) ? blob : new Blob([blob]));
        setAddress(url);
      })
      .catch(() => {});
    return () => {
      isGone = true;
      setAddress(undefined);
      if (url) URL.revokeObjectURL(url);
    };
  }, [path]);
  return address;
}

/** Saves a file of the server, under this name, or else under the name that the server sends. */
export async function saveFile(path: string, name?: string): Promise<void> {
  const answer = await load(path);
  const named = /filename="?([^";]+)/.exec(answer.headers.get("Content-Disposition") ?? "")?.[1];
  const url = URL.createObjectURL(new Blob([await answer.blob()]));
  const link = document.createElement("a");
  link.href = url;
  link.download = name ?? named ?? path.split("/").pop() ?? "";
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
