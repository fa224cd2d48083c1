-- The core moves tasks: what it has to do for each, what was asked for, and what plugins and people have answered.

ALTER TABLE `tasks` ADD COLUMN `phase` text NOT NULL DEFAULT '';
ALTER TABLE `tasks` ADD COLUMN `round` integer NOT NULL DEFAULT 0;
ALTER TABLE `tasks` ADD COLUMN `settled` integer NOT NULL DEFAULT 0;
ALTER TABLE `tasks` ADD COLUMN `failures` integer NOT NULL DEFAULT 0;
ALTER TABLE `tasks` ADD COLUMN `not_before` datetime NULL;
ALTER TABLE `tasks` ADD COLUMN `agains` integer NOT NULL DEFAULT 0;
ALTER TABLE `tasks` ADD COLUMN `cause_run_id` text NOT NULL DEFAULT '';
ALTER TABLE `tasks` ADD COLUMN `asked_permission_mode` text NOT NULL DEFAULT '';
ALTER TABLE `tasks` ADD COLUMN `asked_cwd` text NOT NULL DEFAULT '';
ALTER TABLE `tasks` ADD COLUMN `asked_labels` json NULL;
-- Tasks that were made before have been asked nobody about, and have cost nothing.
UPDATE `tasks` SET `asked_permission_mode` = `permission_mode`, `asked_cwd` = `cwd`, `asked_labels` = `labels`;
UPDATE `tasks` SET `phase` = 'creating' WHERE `status` = 'pending';
-- Who evaluated them is gone, and has left no word of it.
UPDATE `tasks` SET `status` = 'waiting', `error` = 'it was being evaluated when harness was upgraded: look at the work, and accept it or send it back'
  WHERE `status` = 'evaluating';
ALTER TABLE `tasks` DROP COLUMN `cost_usd`;
CREATE INDEX `task_phase` ON `tasks` (`phase`) WHERE phase <> '';

CREATE TABLE `task_answers` (
  `id` integer NOT NULL PRIMARY KEY AUTOINCREMENT,
  `task_id` text NOT NULL,
  `iteration` integer NOT NULL,
  `round` integer NOT NULL,
  `phase` text NOT NULL,
  `plugin` text NOT NULL,
  `author` text NOT NULL DEFAULT '',
  `answer` text NOT NULL DEFAULT '',
  `feedback` text NOT NULL DEFAULT '',
  `evidence` json NULL,
  `created_at` datetime NOT NULL
);
CREATE UNIQUE INDEX `taskanswer_task_id_round_phase_plugin` ON `task_answers` (`task_id`, `round`, `phase`, `plugin`);

CREATE INDEX `agentrun_task_id` ON `agent_runs` (`task_id`) WHERE task_id <> '';
