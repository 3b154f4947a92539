import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app/App";
import { loadFirstWords } from "./app/language";
import "./style/index.css";

function show(): void {
  createRoot(document.getElementById("page") as HTMLElement).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}

// Not first in English, which would flicker.
const words = loadFirstWords();
if (words) void words.then(show);
else show();

// After the page: its first load matters more.
if (import.meta.env.PROD) addEventListener("load", () => void import("./offline/register"));
