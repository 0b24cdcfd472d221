-- What a claim has reserved of budgets, and when a question was declined.
ALTER TABLE claims ADD COLUMN charges BLOB;
ALTER TABLE approvals ADD COLUMN declined_at REAL;

CREATE INDEX claims_to_bury ON claims (expires_at) WHERE result IS NOT NULL OR charges IS NOT NULL;
CREATE INDEX approvals_declined ON approvals (tenant, requester, declined_at) WHERE declined_at IS NOT NULL;
CREATE INDEX rehearsals_by_age ON rehearsals (at);

-- Rates: when the next call would be due if all came evenly.
CREATE TABLE rates (
  name TEXT PRIMARY KEY NOT NULL,
  due  REAL NOT NULL
) WITHOUT ROWID;

-- Tallies: what was spent of one window of one budget, as a decimal number.
CREATE TABLE tallies (
  name  TEXT PRIMARY KEY NOT NULL,
  spent TEXT NOT NULL,
  until REAL NOT NULL
) WITHOUT ROWID;
