-- What the amounts of an account are in: US dollars (empty), or tokens.
ALTER TABLE "reservations" ADD COLUMN "unit" character varying NOT NULL DEFAULT '';
