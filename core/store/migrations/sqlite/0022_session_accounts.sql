-- Sessions from before there were accounts are those of what the daemon's environment authenticates with. Without a
-- name they would be taken for sessions of whatever account their thread is given.

UPDATE `threads` SET `session_account` = 'environment' WHERE `session_id` <> '' AND `session_account` = '';
UPDATE `runs` SET `account` = 'environment' WHERE `session_id` <> '' AND `account` = '' AND `state` IN ('queued', 'running', 'waiting');
