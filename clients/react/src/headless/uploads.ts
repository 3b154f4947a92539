// Pictures and files of the next message. They are uploaded before the message is sent.

import type { BaseClient } from "@turnwire/client";
import { useCallback, useEffect, useRef, useState } from "react";

export interface AttachedFile {
  key: number;
  name: string;
  /** The address of a picture; files have none. */
  preview?: string | undefined;
  file: File;
  /** Whether it is being uploaded. */
  isLoading: boolean;
  blobId?: string | undefined;
}

export type Uploads = ReturnType<typeof useUploads>;

let keys = 0;

/** Without a conversation, the files stay here until there is one. */
export function useUploads(client: BaseClient, id: string | undefined, onRefused: (problem: string) => void) {
  const [all, setAll] = useState<AttachedFile[]>([]);
  const latest = useRef(all);
  latest.current = all;
  useEffect(() => () => forget(latest.current), []);

  const remove = useCallback((key: number) => {
    setAll((now) => {
      forget(now.filter((each) => each.key === key));
      return now.filter((each) => each.key !== key);
    });
  }, []);

  /** Adds files. Returns a function that removes them. */
  const add = (files: File[]) => {
    const added: number[] = [];
    for (const file of files) {
      keys += 1;
      const key = keys;
      added.push(key);
      const preview = isPicture(file) ? URL.createObjectURL(file) : undefined;
      setAll((now) => [...now, { key, name: file.name, preview, file, isLoading: id !== undefined }]);
      if (id === undefined) continue;
      upload(client, id, file).then(
        (blobId) =>
          setAll((now) =>
            now.map((each) => (each.key === key ? { ...each, blobId, isLoading: false } : each)),
          ),
        (problem: Error) => {
          remove(key);
          onRefused(problem.message);
        },
      );
    }
    return () => added.forEach(remove);
  };

  /** Takes them all for a message. Returns a function that puts them back after a refusal. */
  const take = () => {
    setAll([]);
    return { done: () => forget(all), putBack: () => setAll((now) => [...all, ...now]) };
  };

  /** Uploads them to a conversation that was just created. */
  const bringTo = (begun: string) =>
    Promise.all(
      all.map(async (each) => contentOf({ ...each, blobId: await upload(client, begun, each.file) })),
    );
  return { all, add, remove, take, bringTo, isBusy: all.some((each) => each.isLoading) };
}

export function isPicture(file: File): boolean {
  return file.type.startsWith("image/");
}

/** The type under which a file is stored; browsers do not know every ending. */
export function typeOf(file: Blob): string {
  return file.type.split(";")[0] || "application/octet-stream";
}

/** Returns an uploaded picture or file as content of a message. */
export function contentOf({ file, name, blobId = "" }: AttachedFile) {
  const blob = { blob_id: blobId };
  return isPicture(file)
    ? { type: "image" as const, blob }
    : { type: "file_ref" as const, path: name, mime_type: typeOf(file), size: file.size, blob };
}

function forget(gone: AttachedFile[]): void {
  for (const { preview } of gone) if (preview) URL.revokeObjectURL(preview);
}

/** Uploads a file for a message of this conversation. Returns the id of its blob. */
export async function upload(
  client: BaseClient,
  id: string,
  file: Blob,
  type = typeOf(file),
): Promise<string> {
  const path = `${client.http.url}/api/blobs?conversation=${encodeURIComponent(id)}`;
  const headers = { ...client.http.headers, "Content-Type": type };
  const answer = await fetch(path, { method: "POST", body: file, headers });
  // A proxy in front of the server may answer without JSON.
  const told: { blob_id?: string; error?: { message: string } } = await answer.json().catch(() => ({}));
  if (!told.blob_id) throw new Error(told.error?.message ?? `The server answered ${answer.status}.`);
  return told.blob_id;
}
