-- When a key stops being good by itself; NULL for one that is good until it is revoked.
ALTER TABLE api_keys ADD COLUMN expires_at double precision;
