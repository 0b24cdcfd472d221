-- Small versioned records: console sessions, accounts, stop switches, tokens. Secrets inside a body are sealed.
CREATE TABLE documents (
  kind       text NOT NULL,
  id         text NOT NULL,
  body       bytea NOT NULL,
  tenant     text NOT NULL,
  updated_at double precision NOT NULL,
  expires_at double precision,
  version    bigint NOT NULL,
  PRIMARY KEY (kind, id)
);
CREATE INDEX documents_by_expiry ON documents (expires_at) WHERE expires_at IS NOT NULL;
