// The states that a person opens on a page: each as the steps that lead there.
import type { Words } from "../src/words/en";

/** A step waits for what it needs. */
export interface Step {
  /** A CSS selector of what must be shown before. */
  after?: string;
  /** A key, perhaps with a modifier: Control+k. It goes to the focused element. */
  key?: string;
  /** A CSS selector of what the key opens. */
  opens?: string;
  /** A CSS selector; the first shown element with the name, if there is one. */
  click?: string;
  named?: (words: Words) => string;
  /** A text, and the field that it is written or pasted into. */
  type?: string;
  paste?: string;
  into?: string;
  /** Taken only on a phone. */
  isNarrow?: boolean;
}

export interface Opened {
  name: string;
  /** The page on which it is opened. */
  path: string;
  steps: Step[];
  /** A CSS selector of what is shown in the end. */
  shows: string;
  /** Whether it exists only on a phone. */
  isNarrow?: boolean;
  /** Whether it exists only where there is room for it. */
  isWide?: boolean;
}

const TALK = "/c/message-whole-answer";
const TALK_SHOWN = ".row.turn";

/** On a phone the list is opened first. */
const LIST: Step = { after: ".cards", click: ".page-header .open-list", isNarrow: true };

const MENU: Step = { after: TALK_SHOWN, click: ".talk-header button", named: ({ more }) => more };
const inMenu = (named: (words: Words) => string): Step[] => [MENU, { click: "[role=menuitem]", named }];

export const OPENED: readonly Opened[] = [
  {
    name: "palette",
    path: TALK,
    steps: [{ after: TALK_SHOWN, key: "Control+k", opens: ".palette" }],
    shows: ".palette [role=option]",
  },
  {
    name: "palette-found",
    path: "/inbox",
    steps: [
      { after: ".cards", key: "Control+k", opens: ".palette" },
      { type: "tool", into: ".palette input" },
    ],
    shows: ".palette [role=option]",
  },
  {
    name: "find",
    path: TALK,
    steps: [
      { after: TALK_SHOWN, key: "Control+f", opens: ".find-bar" },
      { type: "the", into: ".find-bar input" },
    ],
    shows: ".find-bar",
  },
  {
    name: "rail",
    path: "/c/rail-many-messages",
    steps: [{ after: ".rail-marks .here[data-kind=asks]", click: ".rail-marks" }],
    shows: ".rail-list [role=option]",
    isWide: true,
  },
  {
    name: "messages",
    path: "/c/rail-many-messages",
    steps: [
      { after: "html:has(.rail-marks)", click: ".talk-header button", named: ({ more }) => more },
      { click: "[role=menuitem]", named: ({ rail }) => rail.title },
    ],
    shows: ".rail-dialog [role=option]",
  },
  {
    name: "long-paste",
    path: TALK,
    steps: [{ after: TALK_SHOWN, paste: "A line of text that is pasted.\n".repeat(200), into: "#composer" }],
    shows: ".notice button",
  },
  {
    name: "directory",
    path: "/",
    steps: [{ after: ".agent-card", click: ".start-bar button.menu-select:not([aria-haspopup])" }],
    shows: ".directories button",
  },
  {
    name: "bypass",
    path: "/c/settings-mode-and-model",
    steps: [
      { after: TALK_SHOWN, click: "main button.menu-select[data-value=plan]" },
      { click: "[data-value=bypassPermissions]" },
    ],
    shows: "dialog.bypass",
  },
  {
    name: "modes",
    path: "/c/settings-mode-and-model",
    steps: [{ after: TALK_SHOWN, click: "main button.menu-select[data-value=plan]" }],
    shows: "[role=menuitemradio]",
  },
  { name: "menu", path: TALK, steps: [MENU], shows: "[role=menuitem]" },
  { name: "share", path: TALK, steps: inMenu(({ share }) => share.open), shows: ".shares li" },
  { name: "labels", path: TALK, steps: inMenu(({ labels }) => labels.open), shows: ".label-form" },
  { name: "rules", path: TALK, steps: inMenu(({ givenRules }) => givenRules.open), shows: ".given-rules" },
  {
    name: "rewind",
    path: TALK,
    steps: [{ after: TALK_SHOWN, click: ".row.said button", named: ({ rewind }) => rewind.open }],
    shows: ".rewind .files",
  },
  {
    name: "inspector",
    path: TALK,
    steps: [{ after: TALK_SHOWN, click: ".row.turn button", named: ({ inspect }) => inspect }],
    shows: ".inspector .columns",
  },
  {
    name: "agent-panel",
    path: "/c/settings-mode-and-model",
    steps: [{ after: TALK_SHOWN, click: ".talk-header button", named: ({ agentPanel }) => agentPanel.title }],
    shows: ".servers > li",
  },
  {
    name: "selection",
    path: "/inbox",
    steps: [
      LIST,
      { after: ".list .entry", click: ".list-bar button[aria-pressed=false]" },
      { click: ".list label.entry input" },
      { click: ".list section:nth-child(2) label.entry input" },
    ],
    shows: ".selection",
  },
  {
    name: "filters",
    path: "/inbox",
    steps: [LIST, { after: ".list .entry", click: ".list-bar button[aria-haspopup=menu]" }],
    shows: "[role=menuitemradio]",
  },
  {
    name: "filtered",
    path: "/inbox",
    steps: [
      LIST,
      { after: ".list .entry", click: ".list-bar button[aria-haspopup=menu]" },
      { click: "[role=menuitemradio][data-value=birds]" },
    ],
    shows: ".sidebar .chips",
  },
  {
    name: "keys",
    path: "/inbox",
    steps: [{ after: ".cards", key: "?", opens: "dialog.help" }],
    shows: "dialog.help",
  },
  {
    name: "key-awaited",
    path: "/settings",
    steps: [{ after: ".key-settings", click: ".key-settings li:nth-child(2) button.key" }],
    shows: ".key-settings input",
  },
  {
    name: "key-refused",
    path: "/settings",
    steps: [
      { after: ".key-settings", click: ".key-settings li:nth-child(4) .key-actions button" },
      { click: ".key-settings li:nth-child(2) button.key" },
      { after: ".key-settings input", key: "s", opens: ".key-settings .bad" },
    ],
    shows: ".key-settings .bad",
  },
  {
    name: "preferences",
    path: "/inbox",
    steps: [LIST, { after: ".cards", click: ".sidebar header button[aria-haspopup]" }],
    shows: "[role=menu]",
  },
  {
    name: "list",
    path: TALK,
    steps: [{ after: TALK_SHOWN, click: ".talk-header .open-list" }],
    shows: ".sidebar.open",
    isNarrow: true,
  },
];
