// The client of the server that this page came from.
import { Client } from "@turnwire/client";

export const client = new Client(document.baseURI.replace(/\/$/, ""));
