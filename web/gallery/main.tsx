// The page itself, with the gallery in place of a server. The list of conversations is the list of the states.
import { replaceServer } from "./server";
import { open } from "./steps";

replaceServer();
void import("../src/main").then(open);
