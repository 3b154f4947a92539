// Pictures that go with the next message. They are with the server before it is sent.
import type { useTurnwire } from "@turnwire/client/react";
import { useCallback, useEffect, useRef, useState } from "react";

export interface Attached {
  key: number;
  name: string;
  preview: string;
  /** Absent: it is still on its way. */
  blobId?: string | undefined;
}

let keys = 0;

export function useAttached(
  client: ReturnType<typeof useTurnwire>,
  id: string,
  say: (problem: string) => void,
) {
  const [all, setAll] = useState<Attached[]>([]);
  const latest = useRef(all);
  latest.current = all;
  useEffect(() => () => forget(latest.current), []);

  const remove = useCallback((key: number) => {
    setAll((now) => {
      forget(now.filter((each) => each.key === key));
      return now.filter((each) => each.key !== key);
    });
  }, []);

  const add = (files: File[]) => {
    for (const file of files) {
      keys += 1;
      const key = keys;
      setAll((now) => [...now, { key, name: file.name, preview: URL.createObjectURL(file) }]);
      upload(client.http.url, id, file).then(
        (blobId) => setAll((now) => now.map((each) => (each.key === key ? { ...each, blobId } : each))),
        (problem: Error) => {
          remove(key);
          say(problem.message);
        },
      );
    }
  };

  /** They go with a message: nothing is left here, unless it is refused. */
  const take = () => {
    setAll([]);
    return { done: () => forget(all), putBack: () => setAll((now) => [...all, ...now]) };
  };
  return { all, add, remove, take, isBusy: all.some((each) => !each.blobId) };
}

function forget(gone: Attached[]): void {
  for (const each of gone) URL.revokeObjectURL(each.preview);
}

async function upload(url: string, id: string, file: File): Promise<string> {
  const path = `${url}/api/blobs?conversation=${encodeURIComponent(id)}`;
  const answer = await fetch(path, { method: "POST", body: file, headers: { "Content-Type": file.type } });
  const told = (await answer.json()) as { blob_id?: string; error?: { message: string } };
  if (!told.blob_id) throw new Error(told.error?.message ?? String(answer.status));
  return told.blob_id;
}
