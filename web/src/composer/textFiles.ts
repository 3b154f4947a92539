// Text files of a message. Their content becomes a part of its text, so that every agent can read it.

import { useState } from "react";
import { fileElement, readText } from "./fileElement";

export interface TextFile {
  key: number;
  name: string;
  text: string;
}

let keys = 0;

/** The text files of the next message. */
export function useTextFiles() {
  const [all, setAll] = useState<readonly TextFile[]>([]);
  /** Adds a file. Returns false if it is not a text, or is too long. */
  const add = async (file: File): Promise<boolean> => {
    const text = await readText(file);
    if (text === undefined) return false;
    keys += 1;
    const key = keys;
    setAll((now) => [...now, { key, name: file.name, text }]);
    return true;
  };
  const remove = (gone: TextFile) => setAll((now) => now.filter((each) => each !== gone));
  /** Returns the text of a message with the files. */
  const joinedTo = (said: string) =>
    [said, ...all.map(({ name, text }) => fileElement(name, text))].filter(Boolean).join("\n\n");
  return { all, add, remove, joinedTo, clear: () => setAll([]) };
}
