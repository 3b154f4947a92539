import { blobPath, saveFile } from "./files";
import { useNotices } from "./Notices";

/** A link that saves a blob of the server. */
export function DownloadButton({ blobId, label }: { blobId: string; label: string }) {
  const { showingRefusal } = useNotices();
  return (
    <button
      type="button"
      className="quiet more"
      onClick={() => void showingRefusal(saveFile(blobPath(blobId)))}
    >
      {label}
    </button>
  );
}
