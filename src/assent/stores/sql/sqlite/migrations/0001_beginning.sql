-- Claims: what is remembered of a call that may have had an effect. Times are seconds since the epoch.
CREATE TABLE claims (
  id          TEXT PRIMARY KEY NOT NULL,
  tenant      TEXT NOT NULL,
  principal   TEXT NOT NULL,
  tool        TEXT NOT NULL,
  key         TEXT,
  fingerprint TEXT NOT NULL,
  contract    TEXT NOT NULL,
  state       TEXT NOT NULL
              CHECK (state IN ('started', 'suspended', 'succeeded', 'failed_no_effect', 'failed', 'in_doubt')),
  epoch       INTEGER NOT NULL,
  lease_until REAL NOT NULL,
  created_at  REAL NOT NULL,
  expires_at  REAL NOT NULL,
  valid_until REAL,
  settled_at  REAL,
  result      BLOB
);

CREATE INDEX claims_by_age ON claims (created_at DESC, id);

-- Approvals: a question bound to one call, and the answers to it.
-- answers_until and pending_until are derived from the rest of the row, so that an index can find them:
-- until when it answers for its binding (nothing once it is used up), and until when it waits for people.
CREATE TABLE approvals (
  id            TEXT PRIMARY KEY NOT NULL,
  binding       TEXT NOT NULL,
  tenant        TEXT NOT NULL,
  requester     TEXT NOT NULL,
  tool          TEXT NOT NULL,
  given_by      TEXT NOT NULL,
  quorum        INTEGER NOT NULL,
  text          TEXT NOT NULL,
  facts         BLOB NOT NULL,
  asked_at      REAL NOT NULL,
  expires_at    REAL NOT NULL,
  lasts         REAL NOT NULL,
  uses          INTEGER NOT NULL,
  used          INTEGER NOT NULL,
  decisions     BLOB NOT NULL,
  answers_until REAL,
  pending_until REAL,
  CHECK (used <= uses)
);

CREATE INDEX approvals_by_binding ON approvals (binding, answers_until);
CREATE INDEX approvals_pending ON approvals (tenant, requester, pending_until) WHERE pending_until IS NOT NULL;
CREATE INDEX approvals_by_age ON approvals (asked_at DESC, id);

CREATE TABLE rehearsals (
  digest  TEXT PRIMARY KEY NOT NULL,
  preview BLOB NOT NULL,
  at      REAL NOT NULL
);

-- The log: numbered from 0 without gaps. The leaf is what is proved, the values beside it can be erased.
CREATE TABLE audit_entries (
  idx  INTEGER PRIMARY KEY NOT NULL,
  leaf BLOB NOT NULL,
  vals BLOB
);
