CREATE TABLE kh_learner (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  about TEXT NOT NULL,
  created_at DOUBLE PRECISION NOT NULL,
  seq BIGINT NOT NULL,
  digest TEXT NOT NULL,
  waiting BIGINT NOT NULL,
  filled BIGINT NOT NULL,
  told BIGINT NOT NULL,
  dropped BIGINT NOT NULL,
  spent DOUBLE PRECISION NOT NULL,
  loss DOUBLE PRECISION NOT NULL,
  asked_at DOUBLE PRECISION,
  told_at DOUBLE PRECISION
);
CREATE TABLE kh_event (
  learner BIGINT NOT NULL REFERENCES kh_learner (id),
  seq BIGINT NOT NULL,
  kind TEXT NOT NULL,
  ticket TEXT,
  who TEXT NOT NULL,
  at DOUBLE PRECISION NOT NULL,
  body TEXT NOT NULL,
  digest TEXT NOT NULL,
  PRIMARY KEY (learner, seq)
);
CREATE UNIQUE INDEX kh_event_once ON kh_event (
  ticket, (CASE kind WHEN 'dropped' THEN 'told' ELSE kind END)
) WHERE ticket IS NOT NULL;
CREATE TABLE kh_ticket (
  number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  learner BIGINT NOT NULL REFERENCES kh_learner (id),
  round BIGINT NOT NULL,
  state TEXT NOT NULL,
  cost DOUBLE PRECISION NOT NULL,
  asked_seq BIGINT NOT NULL,
  asked_at DOUBLE PRECISION NOT NULL,
  expires_at DOUBLE PRECISION,
  filled_seq BIGINT,
  filled_at DOUBLE PRECISION,
  prediction DOUBLE PRECISION,
  closed_seq BIGINT,
  closed_at DOUBLE PRECISION,
  UNIQUE (learner, round)
);
CREATE INDEX kh_ticket_by_state ON kh_ticket (learner, state, number);
CREATE TABLE kh_snapshot (
  learner BIGINT NOT NULL REFERENCES kh_learner (id),
  seq BIGINT NOT NULL,
  at DOUBLE PRECISION NOT NULL,
  digest TEXT NOT NULL,
  version TEXT NOT NULL,
  platform TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  state BYTEA NOT NULL,
  PRIMARY KEY (learner, seq)
);
CREATE TABLE kh_request (
  learner BIGINT NOT NULL REFERENCES kh_learner (id),
  idem_key TEXT NOT NULL,
  request_hash TEXT NOT NULL,
  tickets TEXT NOT NULL,
  at DOUBLE PRECISION NOT NULL,
  PRIMARY KEY (learner, idem_key)
);
