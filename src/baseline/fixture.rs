//! Hand-made sessions, baselines and tests for the unit tests of the core.

use std::collections::BTreeMap;

use super::{Accepted, Anchor, Baseline, Candidate, CandidateSession, SCHEMA};
use crate::facts::Identity;
use crate::plan::WorkloadKey;
use crate::sample::{Fate, Latency, Layout, LegSample, Round, Session};
use crate::suite::{
    Block, Cache, Data, Direction, EngineKind, Flush, Gate, Legs, Metric, MetricKind, On, Proof,
    Rw, Test, Tolerance, Workload, WriteMode,
};
use crate::units::{Bytes, Fraction, Nanos};

/// Bytes of each leg.
const LEG: u64 = 100_000_000;

/// A session whose kept rounds have these read and write rates, in units of 100 MB/s; the order of legs alternates.
pub(crate) fn session(id: &str, started: u64, rates: &[(f64, f64)]) -> Session {
    Session {
        id: id.into(),
        started: 1_700_000_000 + started,
        seconds: 44.5,
        boot_id: "b7".into(),
        pid: 41,
        seed: 0xFFFF_FFFF_FFFF_FFF1,
        version: "0.1.0".into(),
        revision: Some("abc123".into()),
        debug_assertions: false,
        workload: workload(),
        leg_bytes: vec![Bytes(LEG), Bytes(LEG)],
        settings: [("scheduler", "none"), ("kernel", "6.18")]
            .map(|(k, v)| (k.into(), v.into()))
            .into(),
        flush_cost: Some(Nanos(150_000)),
        reuse_distance: Some(Bytes(1 << 30)),
        layout: Some(Layout {
            extents: 3,
            position: Bytes(4096),
            not_data: Bytes(0),
        }),
        rounds: rates
            .iter()
            .enumerate()
            .map(|(i, &(r, w))| round(i % 2 == 0, r, w))
            .collect(),
        latency: vec![Latency {
            direction: Direction::Read,
            counts: vec![[900_000, 15_000], [2_000_000, 150]],
        }],
        notes: vec![],
    }
}

/// A steady session of twenty rounds around these rates, with a wobble of `noise`.
pub(crate) fn steady(id: &str, started: u64, read: f64, write: f64, noise: f64) -> Session {
    let wobble = |i: usize, k: usize| 1.0 + noise * (((i * k) % 7) as f64 / 3.0 - 1.0);
    let rates: Vec<_> = (0..20)
        .map(|i| (read * wobble(i, 3), write * wobble(i, 5)))
        .collect();
    session(id, started, &rates)
}

fn round(read_first: bool, read: f64, write: f64) -> Round {
    let mut legs = vec![leg(Direction::Read, read), leg(Direction::Write, write)];
    if !read_first {
        legs.reverse();
    }
    Round {
        fate: Fate::Kept,
        legs,
        steal: Some(0.0),
    }
}

fn leg(direction: Direction, rate: f64) -> LegSample {
    let settled = (LEG as f64 / (rate * 1e8) * 1e9).round() as u64;
    let drain = if direction == Direction::Write {
        settled / 20
    } else {
        0
    };
    LegSample {
        direction,
        bytes: Bytes(LEG),
        time: Nanos(settled - drain),
        flush: Nanos(if drain > 0 { drain + 150_000 } else { 0 }),
        drain: Nanos(drain),
        requests: 763,
        cpu_user: Nanos(10_000_000),
        cpu_system: Nanos(20_000_000),
        own: Some(Bytes(LEG)),
        device: Some(Bytes(LEG)),
        device_other: None,
        series: vec![9_000_000, 11_000_000],
    }
}

/// The workload every fixture shares.
pub(crate) fn workload() -> WorkloadKey {
    [("block", "128 KiB"), ("depth", "8"), ("engine", "io_uring")]
        .map(|(k, v)| (k.into(), v.into()))
        .into()
}

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
