-- Who made a key in the console or through the API, and in which session; NULL for one of the command line.
ALTER TABLE api_keys ADD COLUMN made_by TEXT;
ALTER TABLE api_keys ADD COLUMN made_in TEXT;
