-- API keys: never themselves, only the SHA-256 digest of each and the start by which people recognise it.
CREATE TABLE api_keys (
  digest     text PRIMARY KEY,
  start      text NOT NULL,
  name       text NOT NULL,
  kind       text NOT NULL CHECK (kind IN ('agent', 'human', 'service')),
  tenant     text NOT NULL,
  scopes     bytea NOT NULL,
  roles      bytea NOT NULL,
  mode       text NOT NULL CHECK (mode IN ('live', 'test')),
  created_at double precision NOT NULL,
  revoked_at double precision
);
