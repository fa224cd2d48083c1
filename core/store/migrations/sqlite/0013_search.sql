-- The index by which messages are found, and how far it has come. It is made of the messages, in the background, after this.

CREATE VIRTUAL TABLE `message_index` USING fts5(`words`, content='', contentless_delete=1, detail=none, prefix='1 2 3', tokenize="ascii tokenchars '_'");
CREATE TABLE `message_index_marks` (`id` integer NOT NULL PRIMARY KEY, `rules` integer NOT NULL DEFAULT (0), `epoch` integer NOT NULL DEFAULT (0), `message_id` integer NOT NULL DEFAULT (0));
INSERT INTO `message_index_marks` (`id`) VALUES (1);
-- Between which times the messages of 4096 ids in a row were made, in microseconds since 1970.
CREATE TABLE `message_spans` (`block` integer NOT NULL PRIMARY KEY, `low` integer NOT NULL, `high` integer NOT NULL);
CREATE TRIGGER `message_unindexed` AFTER DELETE ON `messages` WHEN old.`kind` IN ('text', 'notification', 'summary')
BEGIN
  DELETE FROM `message_index` WHERE rowid = old.`id`;
END;
