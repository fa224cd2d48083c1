-- What the runs of scheduled jobs may do and cost, and what of them people are shown; what a fire was asked
-- for with.

ALTER TABLE `cron_jobs` ADD COLUMN `report` text NOT NULL DEFAULT ('');
ALTER TABLE `cron_jobs` ADD COLUMN `session` text NOT NULL DEFAULT ('');
ALTER TABLE `cron_jobs` ADD COLUMN `cost_cap_usd` real NOT NULL DEFAULT (0);
ALTER TABLE `cron_jobs` ADD COLUMN `timeout` text NOT NULL DEFAULT ('');
ALTER TABLE `cron_jobs` ADD COLUMN `if_room` bool NOT NULL DEFAULT (0);
ALTER TABLE `cron_jobs` ADD COLUMN `when_command` text NOT NULL DEFAULT ('');
ALTER TABLE `cron_jobs` ADD COLUMN `model` text NOT NULL DEFAULT ('');
ALTER TABLE `cron_jobs` ADD COLUMN `permission_mode` text NOT NULL DEFAULT ('');
ALTER TABLE `cron_jobs` ADD COLUMN `tools` text NOT NULL DEFAULT ('');
ALTER TABLE `cron_fires` ADD COLUMN `data` text NOT NULL DEFAULT ('');
