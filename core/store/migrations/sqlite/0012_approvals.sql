-- What the agent asks people, what they allow from now on, and whether somebody is there to answer.

CREATE TABLE `approvals` (
  `id` text NOT NULL,
  `thread_id` text NOT NULL,
  `run_id` text NOT NULL,
  `attempt` integer NOT NULL,
  `kind` text NOT NULL,
  `state` text NOT NULL,
  `tool` text NOT NULL,
  `input` text NOT NULL DEFAULT '',
  `digest` text NOT NULL,
  `title` text NOT NULL,
  `text` text NOT NULL DEFAULT '',
  `note` text NOT NULL DEFAULT '',
  `cwd` text NOT NULL DEFAULT '',
  `questions` json NULL,
  `choices` json NOT NULL,
  `offers` json NULL,
  `message_id` integer NOT NULL DEFAULT (0),
  `choice` text NOT NULL DEFAULT '',
  `answers` json NULL,
  `words` text NOT NULL DEFAULT '',
  `author` text NOT NULL DEFAULT '',
  `plugin` text NOT NULL DEFAULT '',
  `rule_id` text NOT NULL DEFAULT '',
  `created_at` datetime NOT NULL,
  `expires_at` datetime NOT NULL,
  `decided_at` datetime NULL,
  `spent_at` datetime NULL,
  PRIMARY KEY (`id`)
);
CREATE INDEX `approval_run_id` ON `approvals` (`run_id`);
CREATE INDEX `approval_thread_id_id` ON `approvals` (`thread_id`, `id`);
CREATE INDEX `approval_message_id` ON `approvals` (`message_id`);
CREATE INDEX `approval_open` ON `approvals` (`expires_at`) WHERE state = 'open';

CREATE TABLE `approval_rules` (
  `id` text NOT NULL,
  `thread_id` text NOT NULL,
  `tool` text NOT NULL,
  `kind` text NOT NULL,
  `value` text NOT NULL DEFAULT '',
  `text` text NOT NULL,
  `author` text NOT NULL DEFAULT '',
  `plugin` text NOT NULL DEFAULT '',
  `approval_id` text NOT NULL DEFAULT '',
  `created_at` datetime NOT NULL,
  PRIMARY KEY (`id`)
);
CREATE INDEX `approvalrule_thread_id_id` ON `approval_rules` (`thread_id`, `id`);

ALTER TABLE `runs` ADD COLUMN `unattended` bool NOT NULL DEFAULT (false);
