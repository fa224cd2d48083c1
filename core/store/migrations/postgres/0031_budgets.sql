-- What is set aside for an attempt whose result is not stored yet, and the limit of an account; and
-- who stands at the root of the causes of a run.

ALTER TABLE "reservations" ADD COLUMN "open_usd" double precision NOT NULL DEFAULT 0;
ALTER TABLE "reservations" ADD COLUMN "limit_usd" double precision NOT NULL DEFAULT 0;
ALTER TABLE "runs" ADD COLUMN "root_source" character varying NOT NULL DEFAULT '';
ALTER TABLE "runs" ADD COLUMN "root_author" character varying NOT NULL DEFAULT '';
