-- Answers name the inbox item, so items must be found fast by their id.
CREATE INDEX inbox_items_by_id ON inbox_items (inbox_item_id);
