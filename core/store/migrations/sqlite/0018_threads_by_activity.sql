-- Threads by their activity: how people see them listed.

CREATE INDEX `thread_last_activity_id` ON `threads` (`last_activity`, `id`);
