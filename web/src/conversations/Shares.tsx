// The share links of one conversation: made, copied and ended.
import { useTurnwire } from "@turnwire/react";
import { useCallback, useEffect, useState } from "react";
import { toClipboard } from "../app/CopyButton";
import { Dialog } from "../app/Dialog";
import { Icon } from "../app/Icon";
import { useWords } from "../app/language";
import { MenuSelect } from "../app/Menu";
import { useNotices } from "../app/Notices";
import { wholeDate } from "../words/times";
import { useInfo } from "./conversationList";

interface Share {
  share_id: string;
  created_at: string;
  expires_at: string;
  /** Only in the answer to its creation. */
  link?: string;
}

const DAYS = [1, 7, 30, 365];

/** Returns the address of a link on this page: a proxy may have another address than the server knows. */
function addressOf({ link = "" }: Share): string {
  return new URL(`shared${new URL(link).hash}`, document.baseURI).href;
}

export default function Shares({ id, close }: { id: string; close: () => void }) {
  const words = useWords();
  const client = useTurnwire();
  const { showingRefusal, showNotice } = useNotices();
  const [shares, setShares] = useState<Share[]>();
  const [days, setDays] = useState(30);
  const [made, setMade] = useState<Share>();
  const path = `/api/conversations/${encodeURIComponent(id)}/shares`;
  const refresh = useCallback(async () => {
    const told = await showingRefusal(client.request<{ shares: Share[] }>("GET", path));
    if (told) setShares(told.shares);
  }, [client, path, showingRefusal]);
  useEffect(() => void refresh(), [refresh]);
  const copy = async (share: Share) => {
    if (await toClipboard(addressOf(share))) showNotice(words.copied, "calm");
  };
  const make = async () => {
    const share = await showingRefusal(client.request<Share>("POST", path, { days }));
    if (!share) return;
    setMade(share);
    await refresh();
    await copy(share);
  };
  const end = async ({ share_id }: Share) => {
    const isDone = await showingRefusal(client.request("DELETE", `${path}/${share_id}`).then(() => true));
    if (!isDone) return;
    if (made?.share_id === share_id) setMade(undefined);
    await refresh();
  };
  return (
    <Dialog
      label={words.share.title(useInfo(id)?.title ?? words.untitled())}
      className="shares"
      close={close}
    >
      {() => (
        <>
          <p>{words.share.hint}</p>
          <form
            onSubmit={(event) => {
              event.preventDefault();
              void make();
            }}
          >
            <div className="valid-for">
              <span aria-hidden="true">{words.share.days}</span>
              <MenuSelect
                label={words.share.days}
                all={DAYS.map((each) => ({ value: String(each), text: words.share.dayCount(each) }))}
                chosen={String(days)}
                choose={(to) => setDays(Number(to))}
              />
            </div>
            <button type="submit" className="primary">
              <Icon name="link" /> {words.share.make}
            </button>
          </form>
          {made && (
            <div className="made">
              <input
                readOnly
                aria-label={words.share.made}
                value={addressOf(made)}
                onFocus={(event) => event.target.select()}
              />
              <button type="button" onClick={() => void copy(made)}>
                {words.share.copy}
              </button>
            </div>
          )}
          {shares && (
            <>
              <h3>{words.share.links}</h3>
              {shares.length === 0 && <p className="muted">{words.share.none}</p>}
              <ul>
                {shares.map((each) => (
                  <li key={each.share_id}>
                    <span>
                      {words.share.about(
                        wholeDate(each.created_at, words),
                        wholeDate(each.expires_at, words),
                      )}
                    </span>
                    <button
                      type="button"
                      className="small"
                      aria-label={words.share.endLink(wholeDate(each.created_at, words))}
                      onClick={() => void end(each)}
                    >
                      {words.share.end}
                    </button>
                  </li>
                ))}
              </ul>
            </>
          )}
        </>
      )}
    </Dialog>
  );
}
