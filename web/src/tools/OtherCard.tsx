// Blocks of agents outside of tool calls. Unknown blocks are shown as raw data.

import type { BlockView, OtherView } from "@turnwire/client";
import { memo } from "react";
import { blobPath, saveFile } from "../app/files";
import { Icon } from "../app/Icon";
import { useWords } from "../app/language";
import { lookUp } from "../app/lookup";
import { useNotices } from "../app/Notices";
import { VisibleText } from "../markdown/VisibleText";
import { byteCount } from "../words/numbers";
import { Comparison } from "./Comparison";
import { CommandLine, Output, Raw, Todos } from "./cardParts";
import { EarlierPlans } from "./EarlierPlans";
import { changesOf } from "./fileChanges";
import { Pictures } from "./Pictures";
import { ICONS, type Kind } from "./toolKinds";
import { listIn, numberIn, picturesIn, rawOutput, textIn, todosIn } from "./toolValues";

const KINDS: Record<string, Kind> = {
  command_execution: "command",
  file_change: "change",
  mcp_tool_call: "mcp",
  web_search: "web",
  todo_list: "todo",
};

interface Props {
  view: OtherView;
  /** The versions of a plan before this one. */
  earlier?: readonly BlockView[] | undefined;
}

export const OtherCard = memo(function OtherCard({ view, earlier }: Props) {
  const words = useWords();
  const { block } = view;
  const type = textIn(block, "type") ?? "";
  if (type === "image")
    return (
      <Pictures
        pictures={picturesIn({ ...(block as object), blob: view.blob ?? (block as { blob?: unknown }).blob })}
      />
    );
  if (type === "file_ref") return <FileCard block={block} blob={view.blob} />;
  if (type === "error") {
    return (
      <div className="card failure" role="note">
        <Icon name="warning" />
        <span>
          <VisibleText text={textIn(block, "message", "text") ?? ""} />
        </span>
      </div>
    );
  }
  const kind = lookUp(KINDS, type) ?? "raw";
  const code = numberIn(block, "exit_code");
  const name =
    kind === "raw" ? (textIn(block, "originalType") ?? (type || words.tool.raw)) : words.tool[kind];
  return (
    <details className={`card tool ${kind}`} open={kind !== "raw"}>
      <summary>
        <Icon name={ICONS[kind]} />
        <span className="name">
          <VisibleText text={name} />
        </span>
        <span className="about">
          <VisibleText text={textIn(block, "command", "query", "path", "tool_name") ?? ""} />
        </span>
        {code !== undefined && (
          <span className={`state ${code ? "bad" : "good"}`}>{words.exitCode(code)}</span>
        )}
        <Icon name="chevron" />
      </summary>
      <div className="body">
        <Inside block={block} kind={kind} />
        <EarlierPlans blocks={earlier} />
      </div>
    </details>
  );
});

function Inside({ block, kind }: { block: unknown; kind: Kind }) {
  switch (kind) {
    case "command":
      return (
        <>
          <CommandLine command={textIn(block, "command") ?? ""} />
          <Output text={rawOutput(textIn(block, "output"))} />
        </>
      );
    case "change":
      return changesOf(block, undefined).map((change, at) => <Comparison key={at} change={change} />);
    case "todo":
      return <Todos todos={todosIn(listIn(block, "items"))} />;
    default:
      return <Raw value={block} />;
  }
}

/** A file of a message, with a button to save it if the server has its content. */
function FileCard({ block, blob }: { block: unknown; blob: unknown }) {
  const words = useWords();
  const { showingRefusal } = useNotices();
  const path = textIn(block, "path") ?? words.file;
  const name = path.split(/[/\\]/).pop() || path;
  const size = numberIn(block, "size");
  const blobId = textIn(blob ?? (block as { blob?: unknown }).blob, "blob_id");
  const label = (
    <>
      <Icon name="file" />
      <span className="name">
        <VisibleText text={name} />
      </span>
      {size !== undefined && <small className="muted">{byteCount(size)}</small>}
    </>
  );
  if (blobId === undefined) return <p className="card file">{label}</p>;
  return (
    <button
      type="button"
      className="card file"
      title={words.download(name)}
      onClick={() => void showingRefusal(saveFile(blobPath(blobId), name))}
    >
      {label}
      <Icon name="download" />
    </button>
  );
}
