/** The logo: a turn on a wire. */
export function Logo() {
  return (
    <svg className="mark" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="8" />
      <path d="M7 11h11a4.5 4.5 0 0 1 0 9h-6M15 16l-4 4 4 4" />
      <circle cx="24.5" cy="11" r="2.2" />
    </svg>
  );
}
