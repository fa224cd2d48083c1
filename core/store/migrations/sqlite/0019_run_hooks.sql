-- What plugins were asked in a run; of older runs nobody knows.

ALTER TABLE `runs` ADD COLUMN `hooks` json NULL;
