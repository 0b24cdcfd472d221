-- Whom the caller's client shows questions: 'person' or 'nobody'; NULL where nobody has said it.
ALTER TABLE api_keys ADD COLUMN asks TEXT;
-- A question of an earlier version can let nothing run: the call asks again, so the question ends here.
UPDATE approvals SET expires_at = min(expires_at, CAST(strftime('%s', 'now') AS REAL)) WHERE pending_until IS NOT NULL;
UPDATE approvals SET pending_until = expires_at, answers_until = expires_at WHERE pending_until IS NOT NULL;
