-- Whoever answers names the item, of however many there were.
CREATE INDEX inbox_items_by_id ON inbox_items (inbox_item_id);
