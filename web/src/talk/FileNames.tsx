// The names of files that were or would be restored.
import { useWords } from "../app/language";
import { VisibleText } from "../markdown/VisibleText";

/** The files by name, as the agent calls them. */
export function Files({ files, label }: { files: readonly string[]; label?: string }) {
  const words = useWords();
  return (
    <ul className="files" aria-label={label ?? words.rewind.files} tabIndex={0}>
      {files.map((file) => (
        <li key={file}>
          <code dir="ltr">
            <VisibleText text={file} />
          </code>
        </li>
      ))}
    </ul>
  );
}
