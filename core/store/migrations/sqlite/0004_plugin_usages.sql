-- How much each plugin keeps, counted as it is written: to sum all of it up at each write is too slow.

CREATE TABLE `plugin_usages` (
  `plugin` text NOT NULL,
  `state_keys` integer NOT NULL DEFAULT 0,
  `state_bytes` integer NOT NULL DEFAULT 0,
  PRIMARY KEY (`plugin`)
);
INSERT INTO `plugin_usages` (`plugin`, `state_keys`, `state_bytes`)
  SELECT `plugin`, COUNT(*), SUM(LENGTH(CAST(`key` AS BLOB)) + LENGTH(CAST(`value` AS BLOB))) FROM `plugin_states` GROUP BY `plugin`;
