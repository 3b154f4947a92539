import { useEffect, useState } from "react";
import { Icon } from "../app/Icon";
import { useWords } from "../app/language";
import { duration } from "../words/numbers";

/** The time until the deadline of a request; nothing, if it has none. */
export function TimeLeft({ deadline }: { deadline: string | undefined }) {
  const words = useWords();
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!deadline) return;
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [deadline]);
  if (!deadline) return null;
  const left = Math.max(0, Date.parse(deadline) - now);
  return (
    <span className="time-left" role="timer">
      <Icon name="clock" /> {words.timeLeft(duration(Math.ceil(left / 1000) * 1000))}
    </span>
  );
}
