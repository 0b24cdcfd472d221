-- Whom the caller's client shows questions: 'person' or 'nobody'; NULL where nobody has said it.
ALTER TABLE api_keys ADD COLUMN asks TEXT;
