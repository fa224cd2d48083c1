-- The second contract of plugins: who wrote what, keys of their own, effects, tasks that the core moves, checks.

ALTER TABLE `messages` ADD COLUMN `plugin` text NOT NULL DEFAULT '';
-- The answer of a plugin's command is the core's row, though its source is the plugin.
UPDATE `messages` SET `plugin` = `source` WHERE `source` IN (SELECT `name` FROM `plugins`)
  AND NOT (`run_id` <> '' AND COALESCE(`key`, '') LIKE `run_id` || ':command:%');
-- Keys of rows were shared by all plugins of a thread, and further rows of one key were KEY#1, KEY#2, ...: now they are
-- PLUGIN/KEY and PLUGIN#1/KEY. What people wrote has no key. A key that is taken is left as it is.
UPDATE `messages` SET `key` = `plugin` || '#' || SUBSTR(`key`, LENGTH(RTRIM(`key`, '0123456789')) + 1) || '/'
    || SUBSTR(`key`, 1, LENGTH(RTRIM(`key`, '0123456789')) - 1)
  WHERE `plugin` <> '' AND NOT (`role` = 'user' AND `kind` = 'text')
  AND `key` LIKE '%#%' AND RTRIM(`key`, '0123456789') LIKE '%#' AND RTRIM(`key`, '0123456789') <> `key`
  AND EXISTS (SELECT 1 FROM `messages` f WHERE f.`thread_id` = `messages`.`thread_id` AND f.`plugin` = `messages`.`plugin`
    AND f.`key` = SUBSTR(`messages`.`key`, 1, LENGTH(RTRIM(`messages`.`key`, '0123456789')) - 1));
UPDATE `messages` SET `key` = `plugin` || '/' || `key`
  WHERE `plugin` <> '' AND NOT (`role` = 'user' AND `kind` = 'text') AND `key` IS NOT NULL
  AND NOT (SUBSTR(`key`, 1, LENGTH(`plugin`) + 1) = `plugin` || '#' AND `key` LIKE '%/%')
  AND NOT EXISTS (SELECT 1 FROM `messages` o WHERE o.`thread_id` = `messages`.`thread_id`
    AND o.`key` = `messages`.`plugin` || '/' || `messages`.`key`);
CREATE INDEX `message_unread` ON `messages` (`thread_id`, `id`) WHERE role <> 'user' AND kind IN ('text', 'notification');

ALTER TABLE `metrics` ADD COLUMN `plugin` text NOT NULL DEFAULT '';
ALTER TABLE `metrics` ADD COLUMN `key` text NULL;
CREATE UNIQUE INDEX `metric_plugin_key` ON `metrics` (`plugin`, `key`);

ALTER TABLE `plugin_states` ADD COLUMN `revision` integer NOT NULL DEFAULT 1;
ALTER TABLE `plugin_usages` ADD COLUMN `state_revision` integer NOT NULL DEFAULT 0;
UPDATE `plugin_usages` SET `state_revision` = 1;

-- What a message counts for is said in core/store/stored_bytes.go, the 100 in core/ledger (RowBytes). What people submitted through a plugin is not counted.
CREATE TABLE `plugin_bytes` (
  `id` text NOT NULL,
  `plugin` text NOT NULL,
  `bytes` integer NOT NULL DEFAULT 0,
  PRIMARY KEY (`id`)
);
CREATE INDEX `pluginbytes_plugin` ON `plugin_bytes` (`plugin`);
INSERT INTO `plugin_bytes` (`id`, `plugin`, `bytes`)
  SELECT `plugin` || '/0', `plugin`, SUM(100 + OCTET_LENGTH(`thread_id`) + OCTET_LENGTH(`role`) + OCTET_LENGTH(`kind`)
    + OCTET_LENGTH(`source`) + OCTET_LENGTH(`plugin`) + OCTET_LENGTH(`author`) + OCTET_LENGTH(`content`) + OCTET_LENGTH(`model`)
    + COALESCE(OCTET_LENGTH(CAST(`metadata` AS text)), 0) + COALESCE(OCTET_LENGTH(CAST(`attachments` AS text)), 0)
    + OCTET_LENGTH(`run_id`) + COALESCE(OCTET_LENGTH(`key`), 0))
  FROM `messages` WHERE `plugin` <> '' AND NOT (`role` = 'user' AND `kind` = 'text') GROUP BY `plugin`;

-- The keys of tasks were shared by all plugins.
ALTER TABLE `tasks` ADD COLUMN `plugin` text NOT NULL DEFAULT '';
ALTER TABLE `tasks` ADD COLUMN `permission_mode` text NOT NULL DEFAULT '';
ALTER TABLE `tasks` ADD COLUMN `allowed_tools` json NULL;
ALTER TABLE `tasks` ADD COLUMN `cwd` text NOT NULL DEFAULT '';
ALTER TABLE `tasks` ADD COLUMN `context` text NOT NULL DEFAULT '';
ALTER TABLE `tasks` ADD COLUMN `labels` json NULL;
ALTER TABLE `tasks` ADD COLUMN `requested_by` text NOT NULL DEFAULT '';
ALTER TABLE `tasks` ADD COLUMN `wake` bool NOT NULL DEFAULT false;
ALTER TABLE `tasks` ADD COLUMN `cost_usd` real NOT NULL DEFAULT 0;
ALTER TABLE `tasks` ADD COLUMN `run_id` text NOT NULL DEFAULT '';
ALTER TABLE `tasks` ADD COLUMN `marks` json NULL;
ALTER TABLE `tasks` ADD COLUMN `error` text NOT NULL DEFAULT '';
ALTER TABLE `tasks` ADD COLUMN `epoch` integer NOT NULL DEFAULT 0;
DROP INDEX `task_key`;
CREATE UNIQUE INDEX `task_plugin_key` ON `tasks` (`plugin`, `key`);
CREATE INDEX `task_parent_task_id` ON `tasks` (`parent_task_id`);
CREATE INDEX `task_thread_id` ON `tasks` (`thread_id`);

ALTER TABLE `runs` ADD COLUMN `commands` json NULL;
CREATE INDEX `run_cause_run_id` ON `runs` (`cause_run_id`) WHERE cause_run_id <> '';

ALTER TABLE `plugins` RENAME COLUMN `ledger` TO `figures`;
ALTER TABLE `plugins` ADD COLUMN `checks` json NULL;
ALTER TABLE `plugins` ADD COLUMN `checked_at` datetime NULL;
ALTER TABLE `plugins` ADD COLUMN `grants_version` integer NOT NULL DEFAULT 0;

-- Where replies go is a target now: PLUGIN:PLACE or thread:ID. One that named its own source meant its own place, as
-- one does that says nothing. One that reported to web or cli, or to what is no name of a plugin, had nothing carried
-- anywhere: a thread that reports to itself has not, either.
UPDATE `threads` SET `report_to` = '' WHERE `report_to` = `source` OR `report_to` IN ('web', 'cli') AND `source` IN ('web', 'cli');
UPDATE `threads` SET `report_to` = 'thread:' || `id`
  WHERE `report_to` <> '' AND (`report_to` IN ('web', 'cli', 'thread') OR LENGTH(`report_to`) > 32 OR `report_to` NOT GLOB '[a-z]*' OR `report_to` GLOB '*[^a-z0-9-]*');
