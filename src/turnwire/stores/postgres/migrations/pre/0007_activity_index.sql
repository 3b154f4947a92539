-- Fills the column of 0006. It is a migration of its own, so that the exclusive lock of 0006 is short: servers
-- read meanwhile, and write until the indexes are made.
CREATE FUNCTION pg_temp.activity_of(state_json text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    state json;
BEGIN
    state := state_json;
    RETURN CASE coalesce(state ->> 'state', 'active')
        WHEN 'streaming' THEN 'working'
        WHEN 'active' THEN CASE
            WHEN coalesce(state ->> 'turn', state ->> 'background') IS NULL THEN 'idle'
            ELSE 'working'
        END
        WHEN 'waiting_input' THEN 'waiting_input'
        WHEN 'interrupted' THEN 'interrupted'
        ELSE 'error'
    END;
EXCEPTION WHEN data_exception THEN
    RETURN 'error';  -- a state that cannot be read
END
$$;

UPDATE conversations SET activity = pg_temp.activity_of(state_json)
WHERE pg_temp.activity_of(state_json) <> 'idle';

CREATE INDEX conversations_by_activity ON conversations (archived, activity, updated_hour);
CREATE INDEX conversations_of_user_by_activity
    ON conversations ("user", archived, activity, updated_hour);
