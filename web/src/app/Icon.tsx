// Icons, drawn with one stroke, in the colour of the text around them.
const PATHS = {
  person: "M12 5a3.5 3.5 0 1 1 0 7 3.5 3.5 0 0 1 0-7zM5 20c0-4 3-5.5 7-5.5s7 1.5 7 5.5",
  printer: "M7 9V4h10v5M7 17H4V9h16v8h-3M7 14h10v6H7z",
  plus: "M12 5v14M5 12h14",
  search: "M11 4a7 7 0 1 1 0 14 7 7 0 0 1 0-14zM16.2 16.2 20 20",
  inbox: "M4 13.5 6.5 5h11l2.5 8.5V19H4zM4 13.5h4.5l1.2 2.5h4.6l1.2-2.5H20",
  send: "M12 19V5M6 11l6-6 6 6",
  steer: "M5 5v6a3 3 0 0 0 3 3h10M13 9l5 5-5 5",
  stop: "M7 7h10v10H7z",
  copy: "M9 9h10v10H9zM15 9V5H5v10h4",
  check: "m5 12.5 4.5 4.5L19 7",
  cross: "M6 6l12 12M18 6 6 18",
  chevron: "m9 6 6 6-6 6",
  menu: "M4 7h16M4 12h16M4 17h16",
  more: "M4.6 12a.6.6 0 1 0 1.2 0a.6.6 0 1 0-1.2 0M11.4 12a.6.6 0 1 0 1.2 0a.6.6 0 1 0-1.2 0M18.2 12a.6.6 0 1 0 1.2 0a.6.6 0 1 0-1.2 0",
  terminal: "m5 7 5 5-5 5M12 17h7",
  file: "M7 3h7l4 4v14H7zM14 3v4h4",
  pencil: "m5 19 1-4L16 5l3 3L9 18zM14 7l3 3",
  globe: "M12 3a9 9 0 1 1 0 18 9 9 0 0 1 0-18zM3 12h18M12 3c3 3 3 15 0 18M12 3c-3 3-3 15 0 18",
  list: "M9 6h11M9 12h11M9 18h11M4.5 6h.01M4.5 12h.01M4.5 18h.01",
  agent: "M7 9h10v9H7zM12 5v4M10 13h.01M14 13h.01M4 13v2M20 13v2",
  plug: "M9 3v5M15 3v5M6 8h12v3a6 6 0 0 1-12 0zM12 17v4",
  question: "M9 9a3 3 0 1 1 4.5 2.6c-1 .6-1.5 1.2-1.5 2.4M12 17.5h.01",
  shield: "M12 3 5 6v5c0 5 3 8 7 10 4-2 7-5 7-10V6z",
  spark:
    "M12 4v4M12 16v4M4 12h4M16 12h4M6.5 6.5l2.6 2.6M14.9 14.9l2.6 2.6M17.5 6.5l-2.6 2.6M9.1 14.9l-2.6 2.6",
  archive: "M4 5h16v4H4zM6 9v10h12V9M10 13h4",
  bin: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
  envelope: "M4 6h16v12H4zM4.5 7l7.5 6 7.5-6",
  download: "M12 4v11M7 11l5 5 5-5M5 20h14",
  moon: "M19 14.5A8 8 0 0 1 9.5 5a7.5 7.5 0 1 0 9.5 9.5z",
  sun: "M12 8a4 4 0 1 1 0 8 4 4 0 0 1 0-8zM12 3v1M12 20v1M3 12h1M20 12h1M5.6 5.6l.8.8M17.6 17.6l.8.8M18.4 5.6l-.8.8M6.4 17.6l-.8.8",
  auto: "M12 4a8 8 0 1 1 0 16zM12 4a8 8 0 0 0 0 16",
  panel: "M4 5h16v14H4zM10 5v14",
  folder: "M4 6h6l2 2h8v11H4z",
  pin: "M9 4h6l-1 6 3 3H7l3-3zM12 13v7",
  tag: "M4 4h8l8 8-8 8-8-8zM8 8h.01",
  filter: "M4 6h16M7 12h10M10 18h4",
  settings: "M4 7h8M18 7h2M12 7a3 3 0 1 0 6 0a3 3 0 1 0-6 0M4 17h2M12 17h8M6 17a3 3 0 1 0 6 0a3 3 0 1 0-6 0",
  select: "M4 6h2v2H4zM4 14h2v2H4zM10 7h10M10 15h10",
  up: "m6 14 6-6 6 6",
  down: "m6 10 6 6 6-6",
  clip: "m8 12 5.5-5.5a3 3 0 0 1 4.2 4.2l-7.4 7.4a4.5 4.5 0 0 1-6.4-6.4L11 4.6",
  link: "M10 14a4 4 0 0 0 5.7 0l3-3a4 4 0 0 0-5.7-5.7l-1 1M14 10a4 4 0 0 0-5.7 0l-3 3a4 4 0 0 0 5.7 5.7l1-1",
  layers: "m12 4 8 4.5-8 4.5-8-4.5zM4 13l8 4.5 8-4.5",
  image: "M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4M9 9h.01",
  bell: "M6 17V11a6 6 0 0 1 12 0v6l1.5 2h-15zM10.5 21h3",
  clock: "M12 4a8 8 0 1 1 0 16 8 8 0 0 1 0-16zM12 8v4l3 2",
  refresh: "M19 12a7 7 0 1 1-2.1-5M19 4v4h-4",
  rewind: "M8 5 4 9l4 4M4 9h9a5.5 5.5 0 0 1 0 11H8",
  quote: "M10 7H5v6h5zM10 13c0 2.5-1.5 4-4 4M19 7h-5v6h5zM19 13c0 2.5-1.5 4-4 4",
  warning: "M12 4 3 19h18zM12 10v4M12 16.5h.01",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
