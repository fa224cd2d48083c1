-- What operators install, grant, limit and roll back, what the supervisor counts, and the sealed secrets of plugins.

ALTER TABLE `plugins` ADD COLUMN `origin` text NOT NULL DEFAULT '';
ALTER TABLE `plugins` ADD COLUMN `publisher` text NOT NULL DEFAULT '';
ALTER TABLE `plugins` ADD COLUMN `previous` json NULL;
ALTER TABLE `plugins` ADD COLUMN `granted_env` json NULL;
ALTER TABLE `plugins` ADD COLUMN `limits` json NULL;
ALTER TABLE `plugins` ADD COLUMN `quarantine` text NOT NULL DEFAULT '';
ALTER TABLE `plugins` ADD COLUMN `ledger` json NULL;
ALTER TABLE `plugins` ADD COLUMN `attach` text NOT NULL DEFAULT '';
ALTER TABLE `plugins` ADD COLUMN `settings_revision` integer NOT NULL DEFAULT 0;

CREATE TABLE `plugin_secrets` (
  `id` text NOT NULL,
  `plugin` text NOT NULL,
  `name` text NOT NULL,
  `value` blob NOT NULL,
  `updated_at` datetime NOT NULL,
  PRIMARY KEY (`id`)
);
CREATE UNIQUE INDEX `pluginsecret_plugin_name` ON `plugin_secrets` (`plugin`, `name`);
