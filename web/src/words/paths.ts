/** Returns the end of a path, which identifies it. */
export function shortPath(path: string): string {
  const parts = path.split(/[/\\]/).filter(Boolean);
  return parts.length > 2 ? `…/${parts.slice(-2).join("/")}` : path;
}
