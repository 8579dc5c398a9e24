ALTER TABLE kh_ticket ADD COLUMN corrected_seq INTEGER;
ALTER TABLE kh_ticket ADD COLUMN corrected_at REAL;
DROP INDEX kh_event_once;
CREATE UNIQUE INDEX kh_event_once ON kh_event (
  ticket, (CASE kind WHEN 'dropped' THEN 'told' WHEN 'corrected' THEN 'corrected ' || seq ELSE kind END)
) WHERE ticket IS NOT NULL;
