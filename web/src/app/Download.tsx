import { blobPath, save } from "./files";
import { useNotices } from "./Notices";

/** A link that saves a blob of the server. */
export function Download({ blobId, label }: { blobId: string; label: string }) {
  const { trying } = useNotices();
  return (
    <button type="button" className="quiet more" onClick={() => void trying(save(blobPath(blobId)))}>
      {label}
    </button>
  );
}
