// Pictures and files in messages. Their content is fetched, because a link cannot send a token.

import type { Http } from "@turnwire/client";
import { useEffect, useState } from "react";
import { isObject, textIn } from "./json.js";

/** The pictures that a browser may show. Others could run a script in the origin of the page. */
const SHOWN = /^image\/(png|jpeg|gif|webp)$/;

/** A picture of a message or of the result of a tool. */
export interface Picture {
  mimeType: string;
  /** Base64. */
  data?: string | undefined;
  blobId?: string | undefined;
  /** The address of an external picture. It is not loaded by itself. */
  url?: string | undefined;
}

/** Returns the pictures in the content of a block or of a result. */
export function picturesIn(content: unknown): Picture[] {
  const all = Array.isArray(content) ? content : [content];
  return all.flatMap((each) => {
    if (!isObject(each) || each.type !== "image") return [];
    const source = isObject(each.source) ? each.source : each;
    const blobId = textIn(each.blob, "blob_id");
    const data = textIn(source, "data");
    const url = textIn(source, "url");
    const mimeType = textIn(source, "mime_type", "media_type", "mimeType") ?? "image/png";
    return blobId || data || url ? [{ mimeType, data, blobId, url }] : [];
  });
}

/** Fetches the content of a blob. */
export async function loadBlob({ url, headers }: Http, blobId: string): Promise<Blob> {
  const answer = await fetch(`${url}/api/blobs/${encodeURIComponent(blobId)}`, { headers });
  if (!answer.ok) throw new Error(`The server answered ${answer.status}.`);
  return answer.blob();
}

/** Returns an address of a picture for an `img`; undefined until it is loaded, or if it cannot be shown. */
export function usePictureAddress({ blobId, data, mimeType }: Picture, http: Http): string | undefined {
  const [address, setAddress] = useState<string>();
  useEffect(() => {
    let url: string | undefined;
    let isGone = false;
    const show = (blob: Blob) => {
      if (isGone || !SHOWN.test(blob.type)) return;
      url = URL.createObjectURL(blob);
      setAddress(url);
    };
    const content = blobId ? loadBlob(http, blobId) : decoded(data, mimeType);
    content.then(show).catch(() => {}); // the words stay instead of the picture
    return () => {
      isGone = true;
      setAddress(undefined);
      if (url) URL.revokeObjectURL(url);
    };
  }, [http, blobId, data, mimeType]);
  return address;
}

/** Decodes base64. Rejects if it is not. */
async function decoded(data = "", type: string): Promise<Blob> {
  return new Blob([Uint8Array.from(atob(data), (each) => each.charCodeAt(0))], { type });
}

/** Saves a file of a message on the person's machine. */
export async function saveBlob(http: Http, blobId: string, name: string): Promise<void> {
  const url = URL.createObjectURL(new Blob([await loadBlob(http, blobId)]));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000); // a browser may still ask where to save it
}
