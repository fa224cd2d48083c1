-- Which version of a plugin answers, which could not, and whether that is the last word.

ALTER TABLE `plugins` ADD COLUMN `generation` integer NOT NULL DEFAULT 0;
ALTER TABLE `plugins` ADD COLUMN `settled` integer NOT NULL DEFAULT 0;
ALTER TABLE `plugins` ADD COLUMN `serving` text NOT NULL DEFAULT '';
ALTER TABLE `plugins` ADD COLUMN `rejected` text NOT NULL DEFAULT '';
