-- Where a conversation was forked from: parent_id says which, this says behind which entry.
ALTER TABLE conversations ADD COLUMN forked_at INTEGER;

-- JSON: what its agent's session begins with, until it has one of its own.
ALTER TABLE conversations ADD COLUMN native_from TEXT;
