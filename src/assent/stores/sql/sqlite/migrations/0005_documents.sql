-- Small versioned records: console sessions, accounts, stop switches, tokens. Secrets inside a body are sealed.
CREATE TABLE documents (
  kind       TEXT NOT NULL,
  id         TEXT NOT NULL,
  body       BLOB NOT NULL,
  tenant     TEXT NOT NULL,
  updated_at REAL NOT NULL,
  expires_at REAL,
  version    INTEGER NOT NULL,
  PRIMARY KEY (kind, id)
);
CREATE INDEX documents_by_expiry ON documents (expires_at) WHERE expires_at IS NOT NULL;
