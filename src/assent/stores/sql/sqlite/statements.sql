-- name: recall
SELECT id, tenant, principal, tool, key, fingerprint, contract, state, epoch,
       lease_until, created_at, expires_at, valid_until, settled_at, result, charges
  FROM claims
 WHERE id = ?;

-- name: recall_many
SELECT id, tenant, principal, tool, key, fingerprint, contract, state, epoch,
       lease_until, created_at, expires_at, valid_until, settled_at, result, charges
  FROM claims
 WHERE id IN (SELECT value FROM json_each(?));

-- name: claims
SELECT id, tenant, principal, tool, key, fingerprint, contract, state, epoch,
       lease_until, created_at, expires_at, valid_until, settled_at, result, charges
  FROM claims
 WHERE state IN (SELECT value FROM json_each(?1))
   AND (?2 IS NULL OR tenant = ?2)
   AND (?3 IS NULL OR principal = ?3)
   AND (?4 IS NULL OR created_at < ?4 OR (created_at = ?4 AND id > ?5))
 ORDER BY created_at DESC, id
 LIMIT ?6;

-- A commit has many claims and entries, so these statements are also made with many rows of values.
-- OR FAIL: on error the whole commit is rolled back, so no statement needs its own journal, which would double the cost.
-- OR IGNORE needs none either: the caller compares the number of written rows, and rolls back if a claim existed.

-- name: add_claim
INSERT OR FAIL INTO claims (id, tenant, principal, tool, key, fingerprint, contract, state, epoch,
                            lease_until, created_at, expires_at, valid_until, settled_at, result, charges)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: start_claim
INSERT OR IGNORE INTO claims (id, tenant, principal, tool, key, fingerprint, contract, state, epoch,
                              lease_until, created_at, expires_at, charges)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: replace_claim
INSERT OR REPLACE INTO claims (id, tenant, principal, tool, key, fingerprint, contract, state, epoch,
                               lease_until, created_at, expires_at, valid_until, settled_at, result, charges)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: move_claim
WITH moved (state, epoch, lease_until, valid_until, settled_at, result, charges, id, from_epoch, from_state) AS (
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
)
UPDATE OR FAIL claims
   SET state = moved.state, epoch = moved.epoch, lease_until = moved.lease_until, valid_until = moved.valid_until,
       settled_at = moved.settled_at, result = moved.result, charges = moved.charges
  FROM moved
 WHERE claims.id = moved.id AND claims.epoch = moved.from_epoch AND claims.state = moved.from_state;

-- name: expire_results
UPDATE claims SET result = NULL, charges = NULL
 WHERE id IN (SELECT id FROM claims
               WHERE expires_at <= ?
                 AND (result IS NOT NULL OR charges IS NOT NULL)
                 AND state IN ('succeeded', 'failed_no_effect', 'failed')
               LIMIT ?);

-- name: approval
SELECT id, binding, tenant, requester, tool, given_by, quorum, text, facts,
       asked_at, expires_at, lasts, uses, used, decisions, details, claim
  FROM approvals
 WHERE id = ?;

-- name: approval_for
SELECT id, binding, tenant, requester, tool, given_by, quorum, text, facts,
       asked_at, expires_at, lasts, uses, used, decisions, details, claim
  FROM approvals
 WHERE binding = ? AND answers_until > ?
 ORDER BY asked_at DESC, id DESC
 LIMIT 1;

-- name: approvals
SELECT id, binding, tenant, requester, tool, given_by, quorum, text, facts,
       asked_at, expires_at, lasts, uses, used, decisions, details, claim
  FROM approvals
 WHERE (?1 IS NULL OR tenant = ?1)
   AND (?2 IS NULL OR requester = ?2)
   AND (?3 IS NULL OR asked_at < ?3 OR (asked_at = ?3 AND id > ?4))
 ORDER BY asked_at DESC, id
 LIMIT ?5;

-- name: pending_approvals
SELECT id, binding, tenant, requester, tool, given_by, quorum, text, facts,
       asked_at, expires_at, lasts, uses, used, decisions, details, claim
  FROM approvals
 WHERE pending_until IS NOT NULL AND pending_until > ?1
   AND (?2 IS NULL OR tenant = ?2)
   AND (?3 IS NULL OR requester = ?3)
   AND (?4 IS NULL OR asked_at < ?4 OR (asked_at = ?4 AND id > ?5))
 ORDER BY +asked_at DESC, id
 LIMIT ?6;

-- name: urgent_approvals
-- The order is that of urgency_of. Only ids are sorted: a whole row may be large.
SELECT id, binding, tenant, requester, tool, given_by, quorum, text, facts,
       asked_at, expires_at, lasts, uses, used, decisions, details, claim
  FROM approvals
 WHERE id IN (
   SELECT id FROM approvals
    WHERE pending_until IS NOT NULL AND pending_until > ?1
      AND (?2 IS NULL OR tenant = ?2)
      AND (?3 IS NULL OR requester = ?3)
    ORDER BY CAST(expires_at / 60 AS INTEGER), CASE json_extract(CAST(facts AS TEXT), '$.risk') WHEN 'forbidden' THEN 0 WHEN 'critical' THEN 1 WHEN 'high' THEN 2
            WHEN 'medium' THEN 3 WHEN 'low' THEN 4 ELSE 5 END,
          asked_at, id
    LIMIT ?4 OFFSET ?5)
 ORDER BY CAST(expires_at / 60 AS INTEGER), CASE json_extract(CAST(facts AS TEXT), '$.risk') WHEN 'forbidden' THEN 0 WHEN 'critical' THEN 1 WHEN 'high' THEN 2
            WHEN 'medium' THEN 3 WHEN 'low' THEN 4 ELSE 5 END,
          asked_at, id;

-- name: count_pending
SELECT count(*), min(expires_at)
  FROM approvals
 WHERE pending_until IS NOT NULL AND pending_until > ?1
   AND (?2 IS NULL OR tenant = ?2)
   AND (?3 IS NULL OR requester = ?3);

-- name: decided_approvals
SELECT id, binding, tenant, requester, tool, given_by, quorum, text, facts,
       asked_at, expires_at, lasts, uses, used, decisions, details, claim
  FROM approvals
 WHERE pending_until IS NULL
   AND (?1 IS NULL OR tenant = ?1)
   AND (?2 IS NULL OR requester = ?2)
 ORDER BY asked_at DESC, id
 LIMIT ?3;

-- name: used_approval
SELECT id, binding, tenant, requester, tool, given_by, quorum, text, facts,
       asked_at, expires_at, lasts, uses, used, decisions, details, claim
  FROM approvals
 WHERE tenant = ? AND requester = ? AND tool = ? AND used > 0 AND asked_at < ?
 ORDER BY asked_at DESC, id
 LIMIT 1;

-- name: related_approvals
SELECT id, binding, tenant, requester, tool, given_by, quorum, text, facts,
       asked_at, expires_at, lasts, uses, used, decisions, details, claim
  FROM approvals
 WHERE (binding = :binding AND answers_until > :now)
    OR (tenant = :tenant AND requester = :requester AND pending_until > :now)
    OR (tenant = :tenant AND requester = :requester AND declined_at > :since);

-- name: keep_approval
INSERT INTO approvals (id, binding, tenant, requester, tool, given_by, quorum, text, facts,
                       asked_at, expires_at, lasts, uses, used, decisions, details, claim,
                       answers_until, pending_until, declined_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE
   SET used = excluded.used, decisions = excluded.decisions, claim = excluded.claim,
       answers_until = excluded.answers_until, pending_until = excluded.pending_until,
       declined_at = excluded.declined_at;

-- name: delete_approvals
DELETE FROM approvals
 WHERE id IN (SELECT id FROM approvals
               WHERE asked_at <= :before AND (answers_until IS NULL OR answers_until <= :before)
               LIMIT :limit);

-- name: delete_rehearsals
-- Versions up to 0.2 kept dry runs in this table; now they are documents.
DELETE FROM rehearsals WHERE digest IN (SELECT digest FROM rehearsals WHERE at <= ? LIMIT ?);

-- name: key
SELECT digest, start, name, kind, tenant, scopes, roles, mode, created_at, revoked_at, expires_at,
       made_by, made_in, asks
  FROM api_keys
 WHERE digest = ?;

-- name: keys
SELECT digest, start, name, kind, tenant, scopes, roles, mode, created_at, revoked_at, expires_at,
       made_by, made_in, asks
  FROM api_keys
 WHERE substr(start, 1, length(?1)) = ?1
 ORDER BY created_at DESC, digest
 LIMIT ?2;

-- name: keep_key
INSERT INTO api_keys (digest, start, name, kind, tenant, scopes, roles, mode, created_at, revoked_at, expires_at,
                      made_by, made_in, asks)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (digest) DO UPDATE SET revoked_at = excluded.revoked_at;

-- name: rate
SELECT due FROM rates WHERE name = ?;

-- name: keep_rate
INSERT OR REPLACE INTO rates (name, due) VALUES (?, ?);

-- name: delete_rates
DELETE FROM rates WHERE name IN (SELECT name FROM rates WHERE due <= ? LIMIT ?);

-- name: tally
SELECT spent, until FROM tallies WHERE name = ?;

-- name: keep_tally
INSERT OR REPLACE INTO tallies (name, spent, until) VALUES (?, ?, ?);

-- name: delete_tallies
DELETE FROM tallies WHERE name IN (SELECT name FROM tallies WHERE until <= ? LIMIT ?);

-- name: begin_log
INSERT OR FAIL INTO audit_entries (idx, leaf, vals) VALUES (0, ?, ?);

-- name: append
INSERT OR FAIL INTO audit_entries (leaf, vals) VALUES (?, ?);

-- name: entries
SELECT idx, leaf, vals FROM audit_entries WHERE idx > ? ORDER BY idx LIMIT ?;

-- name: leaves
SELECT leaf FROM audit_entries WHERE idx >= ? AND idx < ? ORDER BY idx;

-- name: length
SELECT coalesce(max(idx) + 1, 0) FROM audit_entries;

-- name: place
SELECT leaf, vals FROM audit_entries WHERE idx = ?;

-- name: erase
UPDATE audit_entries SET vals = ? WHERE idx = ?;

-- name: document
SELECT kind, id, body, tenant, updated_at, expires_at, version FROM documents WHERE kind = ? AND id = ?;

-- name: documents
SELECT kind, id, body, tenant, updated_at, expires_at, version
  FROM documents
 WHERE kind = ?1 AND (expires_at IS NULL OR expires_at > ?2) AND (?3 IS NULL OR tenant = ?3) AND id > ?4
 ORDER BY id
 LIMIT ?5;

-- name: keep_document
INSERT OR REPLACE INTO documents (kind, id, body, tenant, updated_at, expires_at, version) VALUES (?, ?, ?, ?, ?, ?, ?);

-- name: delete_document
DELETE FROM documents WHERE kind = ? AND id = ?;

-- name: delete_expired_documents
DELETE FROM documents WHERE rowid IN (SELECT rowid FROM documents WHERE expires_at <= ? LIMIT ?);
