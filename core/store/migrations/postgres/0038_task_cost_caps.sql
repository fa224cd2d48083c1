-- A person can raise what a task may cost. What was asked for when it was made tells a repetition.
ALTER TABLE "tasks" ADD COLUMN "asked_cost_cap_usd" double precision NOT NULL DEFAULT 0;
UPDATE "tasks" SET "asked_cost_cap_usd" = "cost_cap_usd";
