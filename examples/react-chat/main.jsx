import { Client } from "@turnwire/client";
import { Conversation, Conversations, TurnwireProvider, useInbox } from "@turnwire/react";
import "@turnwire/react/style.css";
import { createRoot } from "react-dom/client";

const client = new Client();
const link = new URL(location).searchParams.get("link");
if (link) await client.enter(link).catch(() => {});
location.hash ||= await client.create();

function Page({ id }) {
  const { items } = useInbox();
  return (
    <>
      <header>{items.length} open requests</header>
      <Conversation key={id} id={id} />
      <Conversations href={(id) => `#${id}`} current={id} />
    </>
  );
}

const root = createRoot(document.getElementById("root"));
const show = () =>
  root.render(<TurnwireProvider client={client} children={<Page id={location.hash.slice(1)} />} />);
addEventListener("hashchange", show);
show();
