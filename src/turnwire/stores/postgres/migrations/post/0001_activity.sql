-- Servers that did not know the column `activity` have changed states without it.
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
WHERE activity <> pg_temp.activity_of(state_json);
