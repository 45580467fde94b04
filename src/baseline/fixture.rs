//! Hand-made baselines and tests for the unit tests of the core, with the sessions of `sample`.

use std::collections::BTreeMap;

use super::{Accepted, Anchor, Baseline, Candidate, CandidateSession, SCHEMA};
use crate::facts::Identity;
use crate::sample::Session;
use crate::sample::fixture::LEG;
use crate::suite::{
    Block, Cache, Data, Direction, EngineKind, Flush, Gate, Legs, Metric, MetricKind, On, Proof,
    Rw, Test, Tolerance, Workload, WriteMode,
};
use crate::units::{Bytes, Fraction};

pub(crate) use crate::sample::fixture::{session, steady, workload};

/// The disk every fixture shares.
pub(crate) fn disk() -> Identity {
    Identity {
        name: "nvme-1tb-ext4".into(),
        model: "ACME 1TB".into(),
        size: Bytes(1_000_000_000_000),
        filesystem: "ext4".into(),
        by: "serial".into(),
        salt: "00ff".into(),
        hash: "aa11".into(),
    }
}

/// `sequential::direct`: a pair that gates ratio, read and write by `auto`.
pub(crate) fn test() -> Test {
    let auto = Gate {
        tolerance: Tolerance::Auto,
        min: None,
        max: None,
        advisory: false,
    };
    let rates = [Direction::Read, Direction::Write].map(MetricKind::Rate);
    let gated: BTreeMap<Metric, Gate> = [MetricKind::Ratio, rates[0], rates[1]]
        .map(|k| (k.into(), auto))
        .into();
    Test {
        suite: "sequential".into(),
        name: "direct".into(),
        workload: pair(),
        gates: gated,
        slow: false,
        advisory: false,
        budget: None,
        text: "t1".into(),
        gated_metrics: 3,
    }
}

/// The same with a tolerance written for every metric.
pub(crate) fn test_with(tolerance: f64) -> Test {
    let mut test = test();
    for gate in test.gates.values_mut() {
        gate.tolerance = Tolerance::Given(Fraction(tolerance));
    }
    test
}

fn pair() -> Workload {
    Workload {
        legs: Legs::Pair(Rw::Read, Rw::Write),
        size: None,
        leg: None,
        time: None,
        block: Block::Bytes(Bytes(128 << 10)),
        engine: EngineKind::IoUring,
        cache: Cache::Direct,
        depth: 8,
        workers: 1,
        data: Data::Random,
        write: WriteMode::Overwrite,
        flush: Flush::End,
        file: None,
        scratch: None,
        files: None,
        on: On::File,
        zone: None,
        disks: 1,
        proof: Proof::Required,
    }
}

/// Sessions waiting to be accepted for [`test`].
pub(crate) fn candidate(sessions: Vec<Session>) -> Candidate {
    Candidate {
        schema: SCHEMA,
        suite: "sequential".into(),
        test: "direct".into(),
        disk: disk(),
        text: "t1".into(),
        mount_point: Some("ab".into()),
        sessions: sessions
            .into_iter()
            .map(|session| CandidateSession {
                text: "t1".into(),
                barred: None,
                session,
            })
            .collect(),
    }
}

/// Sessions as accepted, without going through the rules of `accept`.
pub(crate) fn accepted(sessions: Vec<Session>) -> Accepted {
    let metrics: Vec<Metric> = test().gates.into_keys().collect();
    let sessions: Vec<Session> = sessions.into_iter().map(super::without_series).collect();
    Accepted {
        summary: super::summarise(&sessions, &metrics, 2),
        accepted: 1_700_000_500,
        revision: None,
        reason: None,
        text: "t1".into(),
        workload: workload(),
        leg_bytes: vec![Bytes(LEG), Bytes(LEG)],
        mount_point: Some("ab".into()),
        max_sessions: 2,
        anchor: Anchor {
            accepted: 1_700_000_500,
            reason: None,
            sessions: super::anchor_stats(&sessions, &metrics),
        },
        sessions,
    }
}

/// A baseline of one test.
pub(crate) fn baseline(sessions: Vec<Session>) -> Baseline {
    Baseline {
        schema: SCHEMA,
        suite: "sequential".into(),
        disk: disk(),
        tests: [("direct".to_owned(), accepted(sessions))].into(),
    }
}

/// Three calm sessions: read 200, write 100 MB/s.
pub(crate) fn three() -> Vec<Session> {
    (0..3)
        .map(|k| steady(&format!("s{k}"), 100 * k, 2.0 + 0.002 * k as f64, 1.0, 0.01))
        .collect()
}
