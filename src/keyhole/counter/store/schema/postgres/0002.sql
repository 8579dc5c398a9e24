ALTER TABLE kh_ticket ADD COLUMN corrected_seq BIGINT;
ALTER TABLE kh_ticket ADD COLUMN corrected_at DOUBLE PRECISION;
DROP INDEX kh_event_once;
CREATE UNIQUE INDEX kh_event_once ON kh_event (
  ticket, (CASE kind WHEN 'dropped' THEN 'told' WHEN 'corrected' THEN 'corrected ' || seq::text ELSE kind END)
) WHERE ticket IS NOT NULL;
