-- Runs that answer several messages, attempts that failed, and what makes a repeated commit harmless.

ALTER TABLE `runs` ADD COLUMN `absorbed` json NULL;
ALTER TABLE `runs` ADD COLUMN `failures` json NULL;
ALTER TABLE `agent_runs` ADD COLUMN `key` text NULL;
CREATE UNIQUE INDEX `agentrun_key` ON `agent_runs` (`key`);
CREATE INDEX `delivery_state_plugin_target_message_id` ON `deliveries` (`state`, `plugin`, `target`, `message_id`);
CREATE INDEX `delivery_message_id` ON `deliveries` (`message_id`);
