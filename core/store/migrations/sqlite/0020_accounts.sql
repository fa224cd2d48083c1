-- Accounts of the agent's, the windows of their plans, and runs that wait for one. What turns have cost so far
-- was counted with what their sessions had cost before: those rows are marked, and not changed.

ALTER TABLE `runs` ADD COLUMN `parked` json NULL;
ALTER TABLE `runs` ADD COLUMN `override` json NULL;
ALTER TABLE `runs` ADD COLUMN `account` text NOT NULL DEFAULT '';
ALTER TABLE `threads` ADD COLUMN `account` text NOT NULL DEFAULT '';
ALTER TABLE `threads` ADD COLUMN `session_account` text NOT NULL DEFAULT '';
ALTER TABLE `tasks` ADD COLUMN `account` text NOT NULL DEFAULT '';
ALTER TABLE `tasks` ADD COLUMN `asked_account` text NOT NULL DEFAULT '';
ALTER TABLE `agent_runs` ADD COLUMN `account` text NOT NULL DEFAULT '';
ALTER TABLE `agent_runs` ADD COLUMN `notional` bool NOT NULL DEFAULT (false);
ALTER TABLE `agent_runs` ADD COLUMN `cost_unsure` bool NOT NULL DEFAULT (false);
ALTER TABLE `reservations` ADD COLUMN `base_usd` real NOT NULL DEFAULT (0);
UPDATE `agent_runs` SET `cost_unsure` = true WHERE `cost_usd` > 0;

CREATE TABLE `agent_run_models` (
  `id` integer NOT NULL PRIMARY KEY AUTOINCREMENT,
  `agent_run_id` integer NOT NULL,
  `model` text NOT NULL,
  `input_tokens` integer NOT NULL DEFAULT (0),
  `output_tokens` integer NOT NULL DEFAULT (0),
  `cache_read_tokens` integer NOT NULL DEFAULT (0),
  `cache_write_tokens` integer NOT NULL DEFAULT (0),
  `cost_usd` real NOT NULL DEFAULT (0)
);
CREATE UNIQUE INDEX `agentrunmodel_agent_run_id_model` ON `agent_run_models` (`agent_run_id`, `model`);

CREATE TABLE `plan_windows` (
  `id` integer NOT NULL PRIMARY KEY AUTOINCREMENT,
  `account` text NOT NULL,
  `name` text NOT NULL,
  `model` text NOT NULL DEFAULT (''),
  `used` real NOT NULL DEFAULT (0),
  `status` text NOT NULL DEFAULT ('allowed'),
  `resets_at` datetime NULL,
  `overage` bool NOT NULL DEFAULT (false),
  `seen_at` datetime NOT NULL,
  `warned` integer NOT NULL DEFAULT (0),
  `first_used` real NOT NULL DEFAULT (0),
  `first_seen` datetime NOT NULL
);
CREATE UNIQUE INDEX `planwindow_account_name` ON `plan_windows` (`account`, `name`);

CREATE TABLE `accounts` (
  `name` text NOT NULL,
  `kind` text NOT NULL,
  `is_default` bool NOT NULL DEFAULT (false),
  `overage` bool NOT NULL DEFAULT (false),
  `fallback` text NOT NULL DEFAULT (''),
  `daily_limit_usd` real NOT NULL DEFAULT (0),
  `home` text NOT NULL DEFAULT (''),
  `key` blob NULL,
  `created_at` datetime NOT NULL,
  `updated_at` datetime NOT NULL,
  PRIMARY KEY (`name`)
);
