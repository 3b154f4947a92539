/** The place of messages that are being loaded. A quick answer comes before it is visible. */
export function LoadingRows() {
  return (
    <div className="loading-rows" aria-hidden="true">
      <div className="skeleton said" />
      <div className="skeleton" />
      <div className="skeleton long" />
      <div className="skeleton said" />
      <div className="skeleton long" />
    </div>
  );
}
