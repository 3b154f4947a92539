// Text files of a message. Their content becomes a part of its text, so that every agent can read it.

import { useState } from "react";
import { useWords } from "../app/language";
import { fileElement, readText } from "./fileElement";

export interface TextFile {
  key: number;
  name: string;
  text: string;
}

let keys = 0;

/** The text files of the next message. */
export function useTextFiles(showNotice: (problem: string) => void) {
  const words = useWords();
  const [all, setAll] = useState<readonly TextFile[]>([]);
  const add = async (files: File[]) => {
    for (const file of files) {
      const text = await readText(file);
      if (text === undefined) {
        showNotice(words.onlyTexts(file.name));
        continue;
      }
      keys += 1;
      const key = keys;
      setAll((now) => [...now, { key, name: file.name, text }]);
    }
  };
  const remove = (gone: TextFile) => setAll((now) => now.filter((each) => each !== gone));
  /** Returns the text of a message with the files, which are taken away. */
  const take = (said: string) => {
    setAll([]);
    return [said, ...all.map(({ name, text }) => fileElement(name, text))].filter(Boolean).join("\n\n");
  };
  return { all, add: (files: File[]) => void add(files), remove, take };
}
