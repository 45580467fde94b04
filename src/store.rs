//! Files of suites, baselines, candidates and records: found, read, locked, replaced whole.
