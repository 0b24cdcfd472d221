-- Whom the caller's client shows questions: 'person' or 'nobody'; NULL where nobody has said it.
ALTER TABLE api_keys ADD COLUMN asks text;
-- A question of an earlier version can let nothing run: the call asks again, so the question ends here.
UPDATE approvals SET expires_at = least(expires_at, extract(epoch FROM now())) WHERE pending_until IS NOT NULL;
UPDATE approvals SET pending_until = expires_at, answers_until = expires_at WHERE pending_until IS NOT NULL;
