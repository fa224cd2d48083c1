-- Turns of the agent that plugins ask for, beside the threads' queues; and what operators turn on and off for all.

ALTER TABLE `runs` ADD COLUMN `beside` bool NOT NULL DEFAULT false;
ALTER TABLE `runs` ADD COLUMN `plugin` text NOT NULL DEFAULT '';
ALTER TABLE `runs` ADD COLUMN `purpose` text NOT NULL DEFAULT '';
ALTER TABLE `runs` ADD COLUMN `task_id` text NOT NULL DEFAULT '';
ALTER TABLE `runs` ADD COLUMN `request` json NULL;
CREATE INDEX `run_task_id` ON `runs` (`task_id`) WHERE task_id <> '';

CREATE TABLE `levers` (
  `id` text NOT NULL,
  `on` bool NOT NULL DEFAULT 0,
  `who` text NOT NULL DEFAULT '',
  `updated_at` datetime NOT NULL,
  PRIMARY KEY (`id`)
);
