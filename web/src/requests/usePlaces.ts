// Where the texts that an edit would replace are in their files, which the server can read.
import { useTurnwire } from "@turnwire/react";
import { useCallback, useEffect, useState } from "react";
import type { LineOf } from "../tools/comparedLines";
import type { Change } from "../tools/fileChanges";

interface Place {
  path: string;
  text: string;
  line: number;
}

export function usePlaces(conversation: string, request: string, changes: readonly Change[]): LineOf {
  const client = useTurnwire();
  const [places, setPlaces] = useState<Place[]>([]);
  const isSought = changes.some(({ parts }) => parts);
  useEffect(() => {
    if (!isSought) return;
    let isGone = false;
    const [id, one] = [conversation, request].map(encodeURIComponent);
    client.request<{ places: Place[] }>("GET", `/api/conversations/${id}/requests/${one}/places`).then(
      (told) => isGone || setPlaces(told.places),
      () => {}, // the lines are numbered from 1, and the comparison says so
    );
    return () => {
      isGone = true;
    };
  }, [client, conversation, request, isSought]);
  return useCallback(
    (part) => places.find(({ path, text }) => path === part.path && text === part.text)?.line,
    [places],
  );
}
