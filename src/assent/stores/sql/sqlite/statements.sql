-- name: recall
SELECT id, tenant, principal, tool, key, fingerprint, contract, state, epoch,
       lease_until, created_at, expires_at, valid_until, settled_at, result
  FROM claims
 WHERE id = ?;

-- name: claims
SELECT id, tenant, principal, tool, key, fingerprint, contract, state, epoch,
       lease_until, created_at, expires_at, valid_until, settled_at, result
  FROM claims
 WHERE state IN (?, ?, ?, ?, ?, ?)
 ORDER BY created_at DESC, id
 LIMIT ?;

-- name: insert_claim
INSERT INTO claims (id, tenant, principal, tool, key, fingerprint, contract, state, epoch,
                    lease_until, created_at, expires_at, valid_until, settled_at, result)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: drop_claim
DELETE FROM claims WHERE id = ? AND epoch = ?;

-- name: retake
UPDATE claims
   SET state = 'started', epoch = epoch + 1, lease_until = :lease_until, settled_at = NULL
 WHERE id = :id
   AND epoch = :epoch
   AND (state IN ('in_doubt', 'suspended') OR (state = 'started' AND lease_until <= :now));

-- name: settle
UPDATE claims
   SET state = :state, settled_at = :at, result = :result, valid_until = :valid_until,
       lease_until = coalesce(:lease_until, lease_until)
 WHERE id = :id
   AND epoch = :epoch
   AND state IN ('started', 'suspended', 'in_doubt');

-- name: extend
UPDATE claims SET lease_until = ? WHERE id = ? AND epoch = ? AND state = 'started';

-- name: approval
SELECT id, binding, tenant, requester, tool, given_by, quorum, text, facts,
       asked_at, expires_at, lasts, uses, used, decisions
  FROM approvals
 WHERE id = ?;

-- name: approval_for
SELECT id, binding, tenant, requester, tool, given_by, quorum, text, facts,
       asked_at, expires_at, lasts, uses, used, decisions
  FROM approvals
 WHERE binding = ? AND answers_until > ?
 ORDER BY asked_at DESC, id DESC
 LIMIT 1;

-- name: approvals
SELECT id, binding, tenant, requester, tool, given_by, quorum, text, facts,
       asked_at, expires_at, lasts, uses, used, decisions
  FROM approvals
 WHERE ?1 IS NULL OR tenant = ?1
 ORDER BY asked_at DESC, id
 LIMIT ?2;

-- name: pending
SELECT count(*) FROM approvals WHERE tenant = ? AND requester = ? AND pending_until > ?;

-- name: insert_approval
INSERT INTO approvals (id, binding, tenant, requester, tool, given_by, quorum, text, facts,
                       asked_at, expires_at, lasts, uses, used, decisions, answers_until, pending_until)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: answer_approval
UPDATE approvals
   SET used = :used, decisions = :decisions, answers_until = :answers_until, pending_until = :pending_until
 WHERE id = :id;

-- name: remember
INSERT OR REPLACE INTO rehearsals (digest, preview, at) VALUES (?, ?, ?);

-- name: rehearsed
SELECT digest, preview, at FROM rehearsals WHERE digest = ?;

-- name: append
INSERT INTO audit_entries (idx, leaf, vals)
SELECT coalesce(max(idx) + 1, 0), ?, ? FROM audit_entries;

-- name: entries
SELECT idx, leaf, vals FROM audit_entries WHERE idx > ? ORDER BY idx LIMIT ?;
