-- The first schema. Generated from ent/schema; see TestMigrationsMatchSchema.

CREATE TABLE `agent_runs` (
  `id` integer NOT NULL PRIMARY KEY AUTOINCREMENT,
  `run_id` text NOT NULL DEFAULT (''),
  `task_id` text NOT NULL DEFAULT (''),
  `thread_id` text NOT NULL DEFAULT (''),
  `purpose` text NOT NULL,
  `model` text NOT NULL DEFAULT (''),
  `input_tokens` integer NOT NULL DEFAULT (0),
  `output_tokens` integer NOT NULL DEFAULT (0),
  `cache_read_tokens` integer NOT NULL DEFAULT (0),
  `cache_write_tokens` integer NOT NULL DEFAULT (0),
  `cost_usd` real NOT NULL DEFAULT (0),
  `duration_ns` integer NOT NULL DEFAULT (0),
  `success` bool NOT NULL DEFAULT (false),
  `error` text NOT NULL DEFAULT (''),
  `started_at` datetime NOT NULL
);
CREATE INDEX `agentrun_thread_id_id` ON `agent_runs` (`thread_id`, `id`);

CREATE TABLE `audit_entries` (
  `id` text NOT NULL,
  `who` text NOT NULL,
  `action` text NOT NULL,
  `target` text NOT NULL DEFAULT (''),
  `detail` text NOT NULL DEFAULT (''),
  `created_at` datetime NOT NULL,
  PRIMARY KEY (`id`)
);

CREATE TABLE `cron_jobs` (
  `id` text NOT NULL,
  `name` text NOT NULL,
  `schedule` text NOT NULL DEFAULT (''),
  `fire_at` datetime NULL,
  `timezone` text NOT NULL DEFAULT ('America/Phoenix'),
  `prompt` text NOT NULL,
  `thread_id` text NOT NULL DEFAULT (''),
  `target` text NOT NULL DEFAULT (''),
  `enabled` bool NOT NULL DEFAULT (0),
  `missed` text NOT NULL DEFAULT ('skip'),
  `last_run` datetime NULL,
  `next_run` datetime NULL,
  `last_result` text NOT NULL DEFAULT (''),
  `created_at` datetime NOT NULL,
  PRIMARY KEY (`id`)
);
CREATE UNIQUE INDEX `cron_jobs_name_key` ON `cron_jobs` (`name`);

CREATE TABLE `deliveries` (
  `id` text NOT NULL,
  `message_id` integer NOT NULL,
  `plugin` text NOT NULL,
  `target` text NOT NULL DEFAULT (''),
  `state` text NOT NULL DEFAULT ('pending'),
  `attempt` integer NOT NULL DEFAULT (0),
  `next_attempt_at` datetime NULL,
  `last_error` text NOT NULL DEFAULT (''),
  `external_id` text NOT NULL DEFAULT (''),
  `created_at` datetime NOT NULL,
  PRIMARY KEY (`id`)
);
CREATE INDEX `delivery_state_id` ON `deliveries` (`state`, `id`);

CREATE TABLE `messages` (
  `id` integer NOT NULL PRIMARY KEY AUTOINCREMENT,
  `thread_id` text NOT NULL,
  `role` text NOT NULL,
  `kind` text NOT NULL,
  `source` text NOT NULL,
  `author` text NOT NULL DEFAULT (''),
  `content` text NOT NULL,
  `model` text NOT NULL DEFAULT (''),
  `metadata` json NULL,
  `attachments` json NULL,
  `run_id` text NOT NULL DEFAULT (''),
  `key` text NULL,
  `created_at` datetime NOT NULL
);
CREATE INDEX `message_thread_id_id` ON `messages` (`thread_id`, `id`);
CREATE INDEX `message_run_id` ON `messages` (`run_id`);
CREATE UNIQUE INDEX `message_thread_id_key` ON `messages` (`thread_id`, `key`);

CREATE TABLE `metrics` (
  `id` integer NOT NULL PRIMARY KEY AUTOINCREMENT,
  `name` text NOT NULL,
  `value` real NOT NULL,
  `tags` json NULL,
  `thread_id` text NOT NULL DEFAULT (''),
  `created_at` datetime NOT NULL
);
CREATE INDEX `metric_name_created_at` ON `metrics` (`name`, `created_at`);

CREATE TABLE `plugins` (
  `name` text NOT NULL,
  `path` text NOT NULL DEFAULT (''),
  `sha256` text NOT NULL DEFAULT (''),
  `version` text NOT NULL DEFAULT (''),
  `manifest` json NULL,
  `enabled` bool NOT NULL DEFAULT (0),
  `position` integer NOT NULL DEFAULT (1000),
  `settings` json NULL,
  `granted` json NULL,
  `on_failure` json NULL,
  `state` text NOT NULL DEFAULT ('disabled'),
  `last_error` text NOT NULL DEFAULT (''),
  `restarts` integer NOT NULL DEFAULT (0),
  `failures` integer NOT NULL DEFAULT (0),
  `updated_at` datetime NULL,
  PRIMARY KEY (`name`)
);

CREATE TABLE `plugin_states` (
  `id` text NOT NULL,
  `plugin` text NOT NULL,
  `key` text NOT NULL,
  `value` blob NOT NULL,
  `updated_at` datetime NOT NULL,
  PRIMARY KEY (`id`)
);
CREATE UNIQUE INDEX `pluginstate_plugin_key` ON `plugin_states` (`plugin`, `key`);

CREATE TABLE `runs` (
  `id` text NOT NULL,
  `thread_id` text NOT NULL,
  `message_id` integer NOT NULL,
  `kind` text NOT NULL,
  `state` text NOT NULL,
  `merged_into` text NOT NULL DEFAULT (''),
  `cause_run_id` text NOT NULL DEFAULT (''),
  `depth` integer NOT NULL DEFAULT (0),
  `step` text NOT NULL DEFAULT (''),
  `attempt` integer NOT NULL DEFAULT (0),
  `next_attempt_at` datetime NULL,
  `owner` text NOT NULL DEFAULT (''),
  `lease_until` datetime NULL,
  `trace_id` text NOT NULL DEFAULT (''),
  `session_id` text NOT NULL DEFAULT (''),
  `prompt_hash` text NOT NULL DEFAULT (''),
  `result` json NULL,
  `events` json NULL,
  `steps` json NULL,
  `outcomes` json NULL,
  `error` text NOT NULL DEFAULT (''),
  `input_tokens` integer NOT NULL DEFAULT (0),
  `output_tokens` integer NOT NULL DEFAULT (0),
  `cache_read_tokens` integer NOT NULL DEFAULT (0),
  `cache_write_tokens` integer NOT NULL DEFAULT (0),
  `cost_usd` real NOT NULL DEFAULT (0),
  `queued_at` datetime NOT NULL,
  `started_at` datetime NULL,
  `finished_at` datetime NULL,
  `source` text NOT NULL DEFAULT (''),
  `key` text NULL,
  `content_hash` text NOT NULL DEFAULT (''),
  PRIMARY KEY (`id`)
);
CREATE UNIQUE INDEX `run_source_key` ON `runs` (`source`, `key`);
CREATE INDEX `run_thread_id_message_id` ON `runs` (`thread_id`, `message_id`);
CREATE INDEX `run_state_thread_id_message_id` ON `runs` (`state`, `thread_id`, `message_id`);

CREATE TABLE `tasks` (
  `id` text NOT NULL,
  `thread_id` text NOT NULL,
  `parent_thread_id` text NOT NULL DEFAULT (''),
  `parent_task_id` text NOT NULL DEFAULT (''),
  `depth` integer NOT NULL DEFAULT (0),
  `key` text NULL,
  `status` text NOT NULL DEFAULT ('pending'),
  `original_message` text NOT NULL,
  `prompt` text NOT NULL,
  `model` text NOT NULL DEFAULT (''),
  `current_iteration` integer NOT NULL DEFAULT (0),
  `max_iterations` integer NOT NULL DEFAULT (5),
  `validation_iterations` integer NOT NULL DEFAULT (0),
  `max_validation_iterations` integer NOT NULL DEFAULT (3),
  `cost_cap_usd` real NOT NULL DEFAULT (5),
  `result` text NOT NULL DEFAULT (''),
  `feedback` text NOT NULL DEFAULT (''),
  `created_at` datetime NOT NULL,
  `completed_at` datetime NULL,
  PRIMARY KEY (`id`)
);
CREATE UNIQUE INDEX `task_key` ON `tasks` (`key`);
CREATE INDEX `task_status_id` ON `tasks` (`status`, `id`);
CREATE INDEX `task_parent_thread_id_id` ON `tasks` (`parent_thread_id`, `id`);

CREATE TABLE `threads` (
  `id` text NOT NULL,
  `source` text NOT NULL,
  `source_id` text NOT NULL,
  `report_to` text NOT NULL DEFAULT (''),
  `name` text NOT NULL DEFAULT (''),
  `kind` text NOT NULL DEFAULT ('general'),
  `parent_thread_id` text NOT NULL DEFAULT (''),
  `status` text NOT NULL DEFAULT ('active'),
  `session_id` text NOT NULL DEFAULT (''),
  `session_open` bool NOT NULL DEFAULT (false),
  `seen_message_id` integer NOT NULL DEFAULT (0),
  `model` text NOT NULL DEFAULT (''),
  `effort` text NOT NULL DEFAULT (''),
  `permission_mode` text NOT NULL DEFAULT (''),
  `cwd` text NOT NULL DEFAULT (''),
  `instructions` text NOT NULL DEFAULT (''),
  `busy_mode` text NOT NULL DEFAULT ('queue'),
  `last_activity` datetime NOT NULL,
  `last_read_message_id` integer NOT NULL DEFAULT (0),
  `epoch` integer NOT NULL DEFAULT (0),
  `created_at` datetime NOT NULL,
  PRIMARY KEY (`id`)
);
CREATE UNIQUE INDEX `thread_source_source_id` ON `threads` (`source`, `source_id`);
