-- Which version of a plugin answers, and which could not.

ALTER TABLE `plugins` ADD COLUMN `serving` text NOT NULL DEFAULT '';
ALTER TABLE `plugins` ADD COLUMN `rejected` text NOT NULL DEFAULT '';
