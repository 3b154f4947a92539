-- The group of a conversation in lists: `Activity` of the port. Commits write it from the state, so
-- that a list of one group reads only conversations of that group. It changes when a turn begins or
-- ends and when a request opens, as `unsettled` does: other commits write no index.
ALTER TABLE conversations ADD COLUMN activity text COLLATE "C" NOT NULL DEFAULT 'idle';
