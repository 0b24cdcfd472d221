-- name: begin
BEGIN ISOLATION LEVEL READ COMMITTED; SELECT next FROM log_head FOR UPDATE;

-- name: recall
SELECT id, tenant, principal, tool, key, fingerprint, contract, state, epoch,
       lease_until, created_at, expires_at, valid_until, settled_at, result, charges
  FROM claims
 WHERE id = ANY ($1::text[]);

-- name: claims
SELECT id, tenant, principal, tool, key, fingerprint, contract, state, epoch,
       lease_until, created_at, expires_at, valid_until, settled_at, result, charges
  FROM claims
 WHERE state = ANY ($1::text[])
   AND ($2::text IS NULL OR tenant = $2)
   AND ($3::text IS NULL OR principal = $3)
   AND ($4::float8 IS NULL OR created_at < $4 OR (created_at = $4 AND id COLLATE "C" > $5::text))
 ORDER BY created_at DESC, id COLLATE "C"
 LIMIT $6;

-- name: add_claims
INSERT INTO claims (id, tenant, principal, tool, key, fingerprint, contract, state, epoch,
                    lease_until, created_at, expires_at, valid_until, settled_at, result, charges)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
                     $9::bigint[], $10::float8[], $11::float8[], $12::float8[], $13::float8[], $14::float8[],
                     $15::bytea[], $16::bytea[])
    ON CONFLICT (id) DO NOTHING;

-- name: replace_claims
INSERT INTO claims (id, tenant, principal, tool, key, fingerprint, contract, state, epoch,
                    lease_until, created_at, expires_at, valid_until, settled_at, result, charges)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
                     $9::bigint[], $10::float8[], $11::float8[], $12::float8[], $13::float8[], $14::float8[],
                     $15::bytea[], $16::bytea[])
    ON CONFLICT (id) DO UPDATE
   SET key = excluded.key, fingerprint = excluded.fingerprint, contract = excluded.contract,
       state = excluded.state, epoch = excluded.epoch, lease_until = excluded.lease_until,
       created_at = excluded.created_at, expires_at = excluded.expires_at, valid_until = excluded.valid_until,
       settled_at = excluded.settled_at, result = excluded.result, charges = excluded.charges;

-- name: move_claims
UPDATE claims AS kept
   SET state = moved.state, epoch = moved.epoch, lease_until = moved.lease_until, valid_until = moved.valid_until,
       settled_at = moved.settled_at, result = moved.result, charges = moved.charges
  FROM unnest($1::text[], $2::bigint[], $3::float8[], $4::float8[], $5::float8[], $6::bytea[], $7::bytea[], $8::text[],
              $9::bigint[], $10::text[])
       AS moved (state, epoch, lease_until, valid_until, settled_at, result, charges, id, from_epoch, from_state)
 WHERE kept.id = moved.id AND kept.epoch = moved.from_epoch AND kept.state = moved.from_state;

-- name: expire_results
UPDATE claims SET result = NULL, charges = NULL
 WHERE id IN (SELECT id FROM claims
               WHERE expires_at <= $1
                 AND (result IS NOT NULL OR charges IS NOT NULL)
                 AND state IN ('succeeded', 'failed_no_effect', 'failed')
               LIMIT $2);

-- name: approval
SELECT id, binding, tenant, requester, tool, given_by, quorum, text, facts,
       asked_at, expires_at, lasts, uses, used, decisions, details, claim
  FROM approvals
 WHERE id = ANY ($1::text[]);

-- name: approval_for
SELECT id, binding, tenant, requester, tool, given_by, quorum, text, facts,
       asked_at, expires_at, lasts, uses, used, decisions, details, claim
  FROM approvals
 WHERE binding = $1 AND answers_until > $2
 ORDER BY asked_at DESC, id COLLATE "C" DESC
 LIMIT 1;

-- name: approvals
SELECT id, binding, tenant, requester, tool, given_by, quorum, text, facts,
       asked_at, expires_at, lasts, uses, used, decisions, details, claim
  FROM approvals
 WHERE ($1::text IS NULL OR tenant = $1)
   AND ($2::text IS NULL OR requester = $2)
   AND ($3::float8 IS NULL OR asked_at < $3 OR (asked_at = $3 AND id COLLATE "C" > $4::text))
 ORDER BY asked_at DESC, id COLLATE "C"
 LIMIT $5;

-- name: pending_approvals
SELECT id, binding, tenant, requester, tool, given_by, quorum, text, facts,
       asked_at, expires_at, lasts, uses, used, decisions, details, claim
  FROM approvals
 WHERE pending_until IS NOT NULL AND pending_until > $1
   AND ($2::text IS NULL OR tenant = $2)
   AND ($3::text IS NULL OR requester = $3)
   AND ($4::float8 IS NULL OR asked_at < $4 OR (asked_at = $4 AND id COLLATE "C" > $5::text))
 ORDER BY asked_at DESC, id COLLATE "C"
 LIMIT $6;

-- name: urgent_approvals
-- The order is that of urgency_of. Only ids are sorted: a whole row may be large. The risk is found as text,
-- because this database reads no JSON that holds the character 0.
SELECT id, binding, tenant, requester, tool, given_by, quorum, text, facts,
       asked_at, expires_at, lasts, uses, used, decisions, details, claim
  FROM approvals
 WHERE id IN (
   SELECT id FROM approvals
    WHERE pending_until IS NOT NULL AND pending_until > $1
      AND ($2::text IS NULL OR tenant = $2)
      AND ($3::text IS NULL OR requester = $3)
    ORDER BY floor(expires_at / 60), CASE substring(convert_from(facts, 'UTF8') from '"risk": ?"([a-z]+)"') WHEN 'forbidden' THEN 0 WHEN 'critical' THEN 1 WHEN 'high' THEN 2
            WHEN 'medium' THEN 3 WHEN 'low' THEN 4 ELSE 5 END,
          asked_at, id COLLATE "C"
    LIMIT $4 OFFSET $5)
 ORDER BY floor(expires_at / 60), CASE substring(convert_from(facts, 'UTF8') from '"risk": ?"([a-z]+)"') WHEN 'forbidden' THEN 0 WHEN 'critical' THEN 1 WHEN 'high' THEN 2
            WHEN 'medium' THEN 3 WHEN 'low' THEN 4 ELSE 5 END,
          asked_at, id COLLATE "C";

-- name: count_pending
SELECT count(*), min(expires_at)
  FROM approvals
 WHERE pending_until IS NOT NULL AND pending_until > $1
   AND ($2::text IS NULL OR tenant = $2)
   AND ($3::text IS NULL OR requester = $3);

-- name: decided_approvals
SELECT id, binding, tenant, requester, tool, given_by, quorum, text, facts,
       asked_at, expires_at, lasts, uses, used, decisions, details, claim
  FROM approvals
 WHERE pending_until IS NULL
   AND ($1::text IS NULL OR tenant = $1)
   AND ($2::text IS NULL OR requester = $2)
 ORDER BY asked_at DESC, id COLLATE "C"
 LIMIT $3;

-- name: used_approval
SELECT id, binding, tenant, requester, tool, given_by, quorum, text, facts,
       asked_at, expires_at, lasts, uses, used, decisions, details, claim
  FROM approvals
 WHERE tenant = $1 AND requester = $2 AND tool = $3 AND used > 0 AND asked_at < $4
 ORDER BY asked_at DESC, id COLLATE "C"
 LIMIT 1;

-- name: related_approvals
SELECT id, binding, tenant, requester, tool, given_by, quorum, text, facts,
       asked_at, expires_at, lasts, uses, used, decisions, details, claim
  FROM approvals
 WHERE (binding = $1 AND answers_until > $4)
    OR (tenant = $2 AND requester = $3 AND pending_until > $4)
    OR (tenant = $2 AND requester = $3 AND declined_at > $5);

-- name: keep_approvals
INSERT INTO approvals (id, binding, tenant, requester, tool, given_by, quorum, text, facts,
                       asked_at, expires_at, lasts, uses, used, decisions, details, claim,
                       answers_until, pending_until, declined_at)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::text[],
                     $9::bytea[], $10::float8[], $11::float8[], $12::float8[], $13::bigint[], $14::bigint[],
                     $15::bytea[], $16::bytea[], $17::text[], $18::float8[], $19::float8[], $20::float8[])
    ON CONFLICT (id) DO UPDATE
   SET used = excluded.used, decisions = excluded.decisions, claim = excluded.claim,
       answers_until = excluded.answers_until, pending_until = excluded.pending_until,
       declined_at = excluded.declined_at;

-- name: delete_approvals
DELETE FROM approvals
 WHERE id IN (SELECT id FROM approvals
               WHERE asked_at <= $1 AND (answers_until IS NULL OR answers_until <= $1)
               LIMIT $2);

-- name: delete_rehearsals
-- Versions up to 0.2 kept dry runs in this table; now they are documents.
DELETE FROM rehearsals WHERE digest IN (SELECT digest FROM rehearsals WHERE at <= $1 LIMIT $2);

-- name: key
SELECT digest, start, name, kind, tenant, scopes, roles, mode, created_at, revoked_at, expires_at,
       made_by, made_in, asks
  FROM api_keys
 WHERE digest = ANY ($1::text[]);

-- name: keys
SELECT digest, start, name, kind, tenant, scopes, roles, mode, created_at, revoked_at, expires_at,
       made_by, made_in, asks
  FROM api_keys
 WHERE starts_with(start, $1)
 ORDER BY created_at DESC, digest COLLATE "C"
 LIMIT $2;

-- name: keep_keys
INSERT INTO api_keys (digest, start, name, kind, tenant, scopes, roles, mode, created_at, revoked_at, expires_at,
                      made_by, made_in, asks)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bytea[], $7::bytea[], $8::text[],
                     $9::float8[], $10::float8[], $11::float8[], $12::text[], $13::text[], $14::text[])
    ON CONFLICT (digest) DO UPDATE SET revoked_at = excluded.revoked_at;

-- name: rates
SELECT name, due FROM rates WHERE name = ANY ($1::text[]);

-- name: keep_rates
INSERT INTO rates (name, due)
SELECT * FROM unnest($1::text[], $2::float8[])
    ON CONFLICT (name) DO UPDATE SET due = excluded.due;

-- name: delete_rates
DELETE FROM rates WHERE name IN (SELECT name FROM rates WHERE due <= $1 LIMIT $2);

-- name: tallies
SELECT name, spent, until FROM tallies WHERE name = ANY ($1::text[]);

-- name: keep_tallies
INSERT INTO tallies (name, spent, until)
SELECT * FROM unnest($1::text[], $2::text[], $3::float8[])
    ON CONFLICT (name) DO UPDATE SET spent = excluded.spent, until = excluded.until;

-- name: delete_tallies
DELETE FROM tallies WHERE name IN (SELECT name FROM tallies WHERE until <= $1 LIMIT $2);

-- name: append
WITH head AS (
  UPDATE log_head SET next = next + cardinality($1::bytea[]) RETURNING next - cardinality($1::bytea[]) AS first
), given AS (
  INSERT INTO audit_entries (idx, leaf, vals)
  SELECT head.first + written.place - 1, written.leaf, written.vals
    FROM head, unnest($1::bytea[], $2::bytea[]) WITH ORDINALITY AS written (leaf, vals, place)
)
SELECT first, (SELECT count(pg_notify($3, names)) FROM unnest($4::text[]) AS told (names)) FROM head;

-- name: entries
SELECT idx, leaf, vals FROM audit_entries WHERE idx > $1 ORDER BY idx LIMIT $2;

-- name: leaves
SELECT leaf FROM audit_entries WHERE idx >= $1 AND idx < $2 ORDER BY idx;

-- name: notify
SELECT pg_notify($1, names) FROM unnest($2::text[]) AS told (names);

-- name: length
SELECT coalesce(max(idx) + 1, 0) FROM audit_entries;

-- name: places
SELECT idx, leaf, vals FROM audit_entries WHERE idx = ANY($1::bigint[]);

-- name: erase
UPDATE audit_entries AS kept
   SET vals = given.vals
  FROM unnest($1::bigint[], $2::bytea[]) AS given (idx, vals)
 WHERE kept.idx = given.idx;

-- name: document
SELECT kind, id, body, tenant, updated_at, expires_at, version
  FROM documents
 WHERE (kind, id) IN (SELECT * FROM unnest($1::text[], $2::text[]));

-- name: documents
SELECT kind, id, body, tenant, updated_at, expires_at, version
  FROM documents
 WHERE kind = $1 AND (expires_at IS NULL OR expires_at > $2) AND ($3::text IS NULL OR tenant = $3)
   AND id COLLATE "C" > $4
 ORDER BY id COLLATE "C"
 LIMIT $5;

-- name: keep_documents
INSERT INTO documents (kind, id, body, tenant, updated_at, expires_at, version)
SELECT * FROM unnest($1::text[], $2::text[], $3::bytea[], $4::text[], $5::float8[], $6::float8[], $7::bigint[])
    ON CONFLICT (kind, id) DO UPDATE
   SET body = excluded.body, tenant = excluded.tenant, updated_at = excluded.updated_at,
       expires_at = excluded.expires_at, version = excluded.version;

-- name: delete_documents
DELETE FROM documents WHERE (kind, id) IN (SELECT * FROM unnest($1::text[], $2::text[]));

-- name: delete_expired_documents
DELETE FROM documents
 WHERE (kind, id) IN (SELECT kind, id FROM documents WHERE expires_at <= $1 LIMIT $2);
