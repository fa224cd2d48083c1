-- What is set aside for an attempt whose result is not stored yet, and the limit of an account.

ALTER TABLE "reservations" ADD COLUMN "open_usd" double precision NOT NULL DEFAULT 0;
ALTER TABLE "reservations" ADD COLUMN "limit_usd" double precision NOT NULL DEFAULT 0;
