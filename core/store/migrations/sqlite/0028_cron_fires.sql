-- What limits the times of scheduled jobs, and a row of each time at which one was due.

ALTER TABLE `cron_jobs` ADD COLUMN `lateness` text NOT NULL DEFAULT ('');
ALTER TABLE `cron_jobs` ADD COLUMN `overlap` text NOT NULL DEFAULT ('');
ALTER TABLE `cron_jobs` ADD COLUMN `jitter` text NOT NULL DEFAULT ('');
ALTER TABLE `cron_jobs` ADD COLUMN `until` datetime NULL;
ALTER TABLE `cron_jobs` ADD COLUMN `except` text NOT NULL DEFAULT ('');
ALTER TABLE `cron_jobs` ADD COLUMN `hours` text NOT NULL DEFAULT ('');
ALTER TABLE `cron_jobs` ADD COLUMN `failures` integer NOT NULL DEFAULT (0);
ALTER TABLE `cron_jobs` ADD COLUMN `mark` text NOT NULL DEFAULT ('');

CREATE TABLE `cron_fires` (
  `id` integer NOT NULL PRIMARY KEY AUTOINCREMENT,
  `job_id` text NOT NULL,
  `job` text NOT NULL,
  `due` datetime NOT NULL,
  `until` datetime NULL,
  `count` integer NOT NULL DEFAULT (0),
  `cause` text NOT NULL,
  `state` text NOT NULL,
  `reason` text NOT NULL DEFAULT (''),
  `run_id` text NOT NULL DEFAULT (''),
  `cost_usd` real NOT NULL DEFAULT (0),
  `decided_at` datetime NULL,
  `ended_at` datetime NULL
);
CREATE UNIQUE INDEX `cronfire_job_id_due` ON `cron_fires` (`job_id`, `due`);
CREATE INDEX `cronfire_due` ON `cron_fires` (`due`);
CREATE INDEX `cronfire_state` ON `cron_fires` (`state`);
