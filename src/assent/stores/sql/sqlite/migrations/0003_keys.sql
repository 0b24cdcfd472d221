-- API keys: never themselves, only the SHA-256 digest of each and the start by which people recognise it.
CREATE TABLE api_keys (
  digest     TEXT PRIMARY KEY NOT NULL,
  start      TEXT NOT NULL,
  name       TEXT NOT NULL,
  kind       TEXT NOT NULL CHECK (kind IN ('agent', 'human', 'service')),
  tenant     TEXT NOT NULL,
  scopes     BLOB NOT NULL,
  roles      BLOB NOT NULL,
  mode       TEXT NOT NULL CHECK (mode IN ('live', 'test')),
  created_at REAL NOT NULL,
  revoked_at REAL
);
