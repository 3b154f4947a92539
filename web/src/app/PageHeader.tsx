import { Icon } from "./Icon";
import { openSidebar } from "./sidebar";
import { useWords } from "./words";

export function PageHeader({ title }: { title: string }) {
  const words = useWords();
  return (
    <header className="page-header">
      <button type="button" className="quiet only-narrow" aria-label={words.menu} onClick={openSidebar}>
        <Icon name="menu" />
      </button>
      <h1>{title}</h1>
    </header>
  );
}
