import type { ReactNode } from "react";
import { Unseen } from "../markdown/Unseen";
import { Icon } from "./Icon";
import { openSidebar } from "./sidebar";
import { useWords } from "./words";

export function PageHeader({ title, children }: { title: string; children?: ReactNode }) {
  const words = useWords();
  return (
    <header className="page-header">
      <button type="button" className="quiet only-narrow" aria-label={words.menu} onClick={openSidebar}>
        <Icon name="menu" />
      </button>
      <h1>
        <Unseen text={title} />
      </h1>
      {children}
    </header>
  );
}
