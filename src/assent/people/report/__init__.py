"""Evidence for auditors: the report of a period as one HTML page, and the receipt of one operation."""
