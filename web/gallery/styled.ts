// The style sheet of @turnwire/client/react, for the components that are shown with it.
import "../../clients/typescript/src/react.css";
