-- Which tools ask in a thread; threads that are being removed; what the files of the workspace have said, and who changed them.

ALTER TABLE `threads` ADD COLUMN `ask_tools` text NOT NULL DEFAULT ('');

CREATE TABLE `thread_removals` (
  `id` text NOT NULL,
  `created_at` datetime NOT NULL,
  PRIMARY KEY (`id`)
);

CREATE TABLE `workspace_changes` (
  `id` integer NOT NULL PRIMARY KEY AUTOINCREMENT,
  `path` text NOT NULL,
  `kind` text NOT NULL,
  `before` text NOT NULL DEFAULT (''),
  `version` text NOT NULL DEFAULT (''),
  `size` integer NOT NULL DEFAULT (0),
  `author` text NOT NULL DEFAULT (''),
  `plugin` text NOT NULL DEFAULT (''),
  `thread_id` text NOT NULL DEFAULT (''),
  `run_id` text NOT NULL DEFAULT (''),
  `created_at` datetime NOT NULL
);
CREATE INDEX `workspacechange_path_id` ON `workspace_changes` (`path`, `id`);
CREATE INDEX `workspacechange_version` ON `workspace_changes` (`version`);

CREATE TABLE `workspace_texts` (
  `id` text NOT NULL,
  `text` blob NOT NULL,
  PRIMARY KEY (`id`)
);
