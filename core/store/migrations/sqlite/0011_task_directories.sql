-- Tasks with a directory of their own, what they go on from, and what they were before OnTaskCreate changed it.

ALTER TABLE `tasks` ADD COLUMN `own_directory` bool NOT NULL DEFAULT (false);
ALTER TABLE `tasks` ADD COLUMN `from_task_id` text NOT NULL DEFAULT '';
ALTER TABLE `tasks` ADD COLUMN `first_cwd` text NOT NULL DEFAULT '';
ALTER TABLE `tasks` ADD COLUMN `asked_allowed_tools` json NULL;
UPDATE `tasks` SET `asked_allowed_tools` = `allowed_tools`, `first_cwd` = `asked_cwd`;
