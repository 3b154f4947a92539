import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app/App";
import "./style/index.css";

createRoot(document.getElementById("page") as HTMLElement).render(
  <StrictMode>
    <App />
  </StrictMode>,
);

// After the page: its first load matters more.
if (import.meta.env.PROD) addEventListener("load", () => void import("./offline/register"));
