//! Hand-made sessions for the unit tests of the core.

use super::{Fate, Latency, Layout, LegSample, Round, Session};
use crate::plan::WorkloadKey;
use crate::suite::Direction;
use crate::units::{Bytes, Nanos};

/// Bytes of each leg.
pub(crate) const LEG: u64 = 100_000_000;

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
