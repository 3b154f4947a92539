-- The remembered permission rules of all conversations, which the states have as well: so the rules
-- of a user are listed without reading every state.
CREATE TABLE rules (
    conversation_id TEXT NOT NULL REFERENCES conversations ON DELETE CASCADE,
    rule_id         TEXT NOT NULL,
    rule_json       TEXT NOT NULL,
    given_at        TEXT NOT NULL,
    PRIMARY KEY (conversation_id, rule_id)
) STRICT;

CREATE INDEX rules_by_time ON rules (given_at);
