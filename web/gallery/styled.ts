// The style sheet of @turnwire/react, for the components that are shown with it.
import "../../clients/react/src/style.css";
