-- The scheduled job whose prompt a turn answers, and the sums of turns by which usage is read. The sums are made of
-- agent_runs, in the background, after this.

ALTER TABLE `agent_runs` ADD COLUMN `cron` text NOT NULL DEFAULT ('');
UPDATE `agent_runs` SET `cron` = (SELECT `job` FROM `cron_fires` WHERE `cron_fires`.`run_id` = `agent_runs`.`run_id`)
  WHERE `run_id` IN (SELECT `run_id` FROM `cron_fires` WHERE `run_id` <> '');

CREATE TABLE `usage_marks` (`id` integer NOT NULL PRIMARY KEY, `epoch` integer NOT NULL DEFAULT (0), `agent_run_id` integer NOT NULL DEFAULT (0));
INSERT INTO `usage_marks` (`id`) VALUES (1);
CREATE TABLE `usage_sums` (
  `facet` text NOT NULL,
  `span` text NOT NULL,
  `start` text NOT NULL,
  `name` text NOT NULL,
  `turns` integer NOT NULL,
  `failed` integer NOT NULL,
  `unsure` integer NOT NULL,
  `duration_ns` integer NOT NULL,
  `input_tokens` integer NOT NULL,
  `output_tokens` integer NOT NULL,
  `cache_read_tokens` integer NOT NULL,
  `cache_write_tokens` integer NOT NULL,
  `cost_usd` real NOT NULL,
  `notional_usd` real NOT NULL,
  PRIMARY KEY (`facet`, `span`, `start`, `name`)
) WITHOUT ROWID;
CREATE INDEX `usage_sums_of_name` ON `usage_sums` (`facet`, `name`, `span`, `start`) WHERE `facet` IN ('thread', 'task');
