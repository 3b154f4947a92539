// The page itself, with the gallery in place of a server. The list of conversations is the list of the states.
import { replaceServer } from "./server";
import { open } from "./steps";

localStorage.removeItem("turnwire:keys"); // what an earlier visit has changed
replaceServer();
void import("../src/main").then(open);
