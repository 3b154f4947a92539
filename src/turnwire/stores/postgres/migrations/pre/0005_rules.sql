-- The remembered permission rules of all conversations, which the states have as well: so the rules
-- of a user are listed without reading every state.
CREATE TABLE rules (
    conversation_id text COLLATE "C" NOT NULL,
    rule_id         text COLLATE "C" NOT NULL,
    rule_json       text NOT NULL,
    given_at        text COLLATE "C" NOT NULL,
    PRIMARY KEY (conversation_id, rule_id)
);

CREATE INDEX rules_by_time ON rules (given_at);
