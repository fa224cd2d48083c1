-- How much each plugin keeps, counted as it is written: to sum all of it up at each write is too slow.

CREATE TABLE "plugin_usages" (
  "plugin" character varying NOT NULL,
  "state_keys" bigint NOT NULL DEFAULT 0,
  "state_bytes" bigint NOT NULL DEFAULT 0,
  PRIMARY KEY ("plugin")
);
INSERT INTO "plugin_usages" ("plugin", "state_keys", "state_bytes")
  SELECT "plugin", COUNT(*), SUM(OCTET_LENGTH("key") + OCTET_LENGTH("value")) FROM "plugin_states" GROUP BY "plugin";
