-- The group of a conversation in lists: `Activity` of the port. Commits write it from the state, so
-- that a list of one group reads only conversations of that group.
ALTER TABLE conversations ADD COLUMN activity TEXT NOT NULL DEFAULT 'idle';

UPDATE conversations SET activity = CASE
    WHEN NOT json_valid(state_json) THEN 'error'
    ELSE CASE coalesce(state_json ->> '$.state', 'active')
        WHEN 'streaming' THEN 'working'
        WHEN 'active' THEN CASE
            WHEN coalesce(state_json ->> '$.turn', state_json ->> '$.background') IS NULL THEN 'idle'
            ELSE 'working'
        END
        WHEN 'waiting_input' THEN 'waiting_input'
        WHEN 'interrupted' THEN 'interrupted'
        ELSE 'error'
    END
END;

-- Every commit writes this index, so there is no other one by time: a list of all groups merges them.
CREATE INDEX conversations_by_activity ON conversations (archived, activity, updated_at);
DROP INDEX conversations_by_time;
