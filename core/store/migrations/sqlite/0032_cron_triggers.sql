-- What a scheduled job fires on beside time, and how long what became of its fires is kept.

ALTER TABLE `cron_jobs` ADD COLUMN `trigger` text NOT NULL DEFAULT ('');
ALTER TABLE `cron_jobs` ADD COLUMN `keep` text NOT NULL DEFAULT ('');
