-- Files: names for bytes that lie in the data directory, by their SHA-256.

CREATE TABLE `files` (
  `id` text NOT NULL,
  `sha256` text NOT NULL,
  `name` text NOT NULL,
  `type` text NOT NULL,
  `size` integer NOT NULL,
  `thread_id` text NOT NULL DEFAULT (''),
  `plugin` text NOT NULL DEFAULT (''),
  `author` text NOT NULL DEFAULT (''),
  `key` text NULL,
  `attached` bool NOT NULL DEFAULT 0,
  `created_at` datetime NOT NULL,
  PRIMARY KEY (`id`)
);
CREATE INDEX `file_sha256` ON `files` (`sha256`);
CREATE INDEX `file_thread_id_id` ON `files` (`thread_id`, `id`);
CREATE UNIQUE INDEX `file_key` ON `files` (`key`);
CREATE INDEX `file_unattached` ON `files` (`id`) WHERE NOT attached;
CREATE INDEX `message_attached` ON `messages` (`id`) WHERE attachments IS NOT NULL;
