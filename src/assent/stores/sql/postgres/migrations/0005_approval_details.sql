-- What an approval is about in parts, for pages that show it; and the claim of the last call that used it.
-- Approvals from before have neither.
ALTER TABLE approvals ADD COLUMN details bytea;
ALTER TABLE approvals ADD COLUMN claim text;

-- What a tool did last for a requester.
CREATE INDEX approvals_used ON approvals (tenant, requester, tool, asked_at) WHERE used > 0;
