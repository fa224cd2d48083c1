-- When a plugin's last error came about; of those that are there nobody knows.

ALTER TABLE `plugins` ADD COLUMN `last_error_at` datetime NULL;
