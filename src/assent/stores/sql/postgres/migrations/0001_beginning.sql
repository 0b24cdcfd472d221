-- Claims: what is remembered of a call that may have had an effect. Times are seconds since the epoch.
CREATE TABLE claims (
  id          text PRIMARY KEY,
  tenant      text NOT NULL,
  principal   text NOT NULL,
  tool        text NOT NULL,
  key         text,
  fingerprint text NOT NULL,
  contract    text NOT NULL,
  state       text NOT NULL
              CHECK (state IN ('started', 'suspended', 'succeeded', 'failed_no_effect', 'failed', 'in_doubt')),
  epoch       bigint NOT NULL,
  lease_until double precision NOT NULL,
  created_at  double precision NOT NULL,
  expires_at  double precision NOT NULL,
  valid_until double precision,
  settled_at  double precision,
  result      bytea,
  charges     bytea
);

CREATE INDEX claims_by_age ON claims (created_at DESC, id);
CREATE INDEX claims_to_bury ON claims (expires_at) WHERE result IS NOT NULL OR charges IS NOT NULL;

-- Approvals: a question bound to one call, and the answers to it.
-- answers_until, pending_until and declined_at are derived from the rest of the row, so that an index can find them.
CREATE TABLE approvals (
  id            text PRIMARY KEY,
  binding       text NOT NULL,
  tenant        text NOT NULL,
  requester     text NOT NULL,
  tool          text NOT NULL,
  given_by      text NOT NULL,
  quorum        bigint NOT NULL,
  text          text NOT NULL,
  facts         bytea NOT NULL,
  asked_at      double precision NOT NULL,
  expires_at    double precision NOT NULL,
  lasts         double precision NOT NULL,
  uses          bigint NOT NULL,
  used          bigint NOT NULL,
  decisions     bytea NOT NULL,
  answers_until double precision,
  pending_until double precision,
  declined_at   double precision,
  CHECK (used <= uses)
);

CREATE INDEX approvals_by_binding ON approvals (binding, answers_until);
CREATE INDEX approvals_pending ON approvals (tenant, requester, pending_until) WHERE pending_until IS NOT NULL;
CREATE INDEX approvals_declined ON approvals (tenant, requester, declined_at) WHERE declined_at IS NOT NULL;
CREATE INDEX approvals_by_age ON approvals (asked_at DESC, id);

CREATE TABLE rehearsals (
  digest  text PRIMARY KEY,
  preview bytea NOT NULL,
  at      double precision NOT NULL
);

CREATE INDEX rehearsals_by_age ON rehearsals (at);

-- Rates: when the next call would be due if all came evenly.
CREATE TABLE rates (
  name text PRIMARY KEY,
  due  double precision NOT NULL
);

-- Tallies: what was spent of one window of one budget, as a decimal number.
CREATE TABLE tallies (
  name  text PRIMARY KEY,
  spent text NOT NULL,
  until double precision NOT NULL
);

-- The log: numbered from 0 without gaps. The leaf is what is proved, the values beside it can be erased.
CREATE TABLE audit_entries (
  idx  bigint PRIMARY KEY,
  leaf bytea NOT NULL,
  vals bytea
);

-- One row: the next place in the log. Whoever writes holds it until the commit, so that places are given in the order
-- of commits and none is lost.
CREATE TABLE log_head (
  one  boolean PRIMARY KEY DEFAULT true CHECK (one),
  next bigint NOT NULL
);

INSERT INTO log_head (next) VALUES (0);
