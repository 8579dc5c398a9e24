ALTER TABLE kh_ticket ADD COLUMN step_seq INTEGER;
DROP INDEX kh_event_once;
CREATE UNIQUE INDEX kh_event_once ON kh_event (
  ticket, (CASE WHEN kind = 'dropped' THEN 'told' WHEN kind IN ('seen', 'step', 'corrected') THEN kind || ' ' || seq ELSE kind END)
) WHERE ticket IS NOT NULL;
