/** Returns the items whose label has all the words; those that begin with them first. */
export function matching<T extends { label: string }>(items: readonly T[], text: string): T[] {
  const parts = text.toLowerCase().split(/\s+/).filter(Boolean);
  const rank = ({ label }: T) => {
    const name = label.toLowerCase();
    if (!parts.every((part) => name.includes(part))) return -1;
    return name.startsWith(parts[0] ?? "") ? 1 : 0;
  };
  const ranked = items.map((item) => ({ item, rank: rank(item) })).filter(({ rank }) => rank >= 0);
  return ranked.sort((one, other) => other.rank - one.rank).map(({ item }) => item);
}
