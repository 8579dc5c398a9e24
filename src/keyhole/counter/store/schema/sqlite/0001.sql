CREATE TABLE kh_learner (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  about TEXT NOT NULL,
  created_at REAL NOT NULL,
  seq INTEGER NOT NULL,
  digest TEXT NOT NULL,
  waiting INTEGER NOT NULL,
  filled INTEGER NOT NULL,
  told INTEGER NOT NULL,
  dropped INTEGER NOT NULL,
  spent REAL NOT NULL,
  loss REAL NOT NULL,
  asked_at REAL,
  told_at REAL
);
CREATE TABLE kh_event (
  learner INTEGER NOT NULL REFERENCES kh_learner (id),
  seq INTEGER NOT NULL,
  kind TEXT NOT NULL,
  ticket TEXT,
  who TEXT NOT NULL,
  at REAL NOT NULL,
  body TEXT NOT NULL,
  digest TEXT NOT NULL,
  PRIMARY KEY (learner, seq)
) WITHOUT ROWID;
CREATE UNIQUE INDEX kh_event_once ON kh_event (
  ticket, (CASE kind WHEN 'dropped' THEN 'told' ELSE kind END)
) WHERE ticket IS NOT NULL;
CREATE TABLE kh_ticket (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  learner INTEGER NOT NULL REFERENCES kh_learner (id),
  round INTEGER NOT NULL,
  state TEXT NOT NULL,
  cost REAL NOT NULL,
  asked_seq INTEGER NOT NULL,
  asked_at REAL NOT NULL,
  expires_at REAL,
  filled_seq INTEGER,
  filled_at REAL,
  prediction REAL,
  closed_seq INTEGER,
  closed_at REAL,
  UNIQUE (learner, round)
);
CREATE INDEX kh_ticket_by_state ON kh_ticket (learner, state, number);
CREATE TABLE kh_snapshot (
  learner INTEGER NOT NULL REFERENCES kh_learner (id),
  seq INTEGER NOT NULL,
  at REAL NOT NULL,
  digest TEXT NOT NULL,
  version TEXT NOT NULL,
  platform TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  state BLOB NOT NULL,
  PRIMARY KEY (learner, seq)
);
CREATE TABLE kh_request (
  learner INTEGER NOT NULL REFERENCES kh_learner (id),
  idem_key TEXT NOT NULL,
  request_hash TEXT NOT NULL,
  tickets TEXT NOT NULL,
  at REAL NOT NULL,
  PRIMARY KEY (learner, idem_key)
) WITHOUT ROWID;
