// The page itself, with the gallery in place of a server. The list of conversations is the list of the states.
import { replaceServer } from "./server";

replaceServer();
void import("../src/main");
