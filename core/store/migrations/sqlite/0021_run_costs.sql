-- What of a run's cost nobody is billed, and whether the cost may be wrong: of all its turns, as the cost is. A turn
-- whose result was refused has not added to the cost of its run.

ALTER TABLE `runs` ADD COLUMN `notional_usd` real NOT NULL DEFAULT (0);
ALTER TABLE `runs` ADD COLUMN `cost_unsure` bool NOT NULL DEFAULT (false);
UPDATE `runs` SET `notional_usd` = `a`.`notional_usd`, `cost_unsure` = `a`.`cost_unsure` FROM (
  SELECT `run_id`, SUM(CASE WHEN `notional` THEN `cost_usd` ELSE 0 END) AS `notional_usd`, MAX(`cost_unsure`) AS `cost_unsure`
  FROM `agent_runs` WHERE (`notional` OR `cost_unsure`) AND (`key` IS NULL OR `key` NOT LIKE '%:refused') GROUP BY `run_id`
) AS `a` WHERE `runs`.`id` = `a`.`run_id`;
