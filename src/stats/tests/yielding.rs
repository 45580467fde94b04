//! From raw rounds to metrics.

use std::collections::BTreeMap;

use super::*;
use crate::sample::fixture::session;
use crate::sample::{Fate, Latency};
use crate::suite::{Direction, Metric, MetricKind};

fn estimate_value(all: &BTreeMap<Metric, Yield>, metric: &Metric) -> f64 {
    yields::estimate_of(std::slice::from_ref(all), metric)
        .expect("measured")
        .value
}

#[test]
fn a_session_yields_the_drained_write_and_the_ratio_of_the_same_round() {
    let session = session("s", 0, &[(2.0, 1.0), (4.0, 1.0)]);
    let all = metrics(&session);
    let Some(Yield::Rounds(ratio)) = all.get(&MetricKind::Ratio.into()) else {
        panic!("a pair has a ratio");
    };
    assert!(
        (ratio[0] - 2.0).abs() < 1e-6 && (ratio[1] - 4.0).abs() < 1e-6,
        "{ratio:?}"
    );
    let write: Metric = MetricKind::Rate(Direction::Write).into();
    let accepted: Metric = MetricKind::WriteAccepted.into();
    let value = |m| estimate_value(&all, m);
    assert!(
        value(&accepted) > value(&write),
        "the drain belongs to the write"
    );
}

#[test]
fn void_and_warm_up_rounds_are_not_counted() {
    let mut session = session("s", 0, &[(2.0, 1.0), (4.0, 1.0), (8.0, 1.0)]);
    session.rounds[0].fate = Fate::WarmUp;
    session.rounds[2].fate = Fate::Void("foreign reads".into());
    let all = metrics(&session);
    assert!((estimate_value(&all, &MetricKind::Ratio.into()) - 4.0).abs() < 1e-6);
}

#[test]
fn percentiles_need_samples_above_them() {
    let mut session = session("s", 0, &[(2.0, 1.0)]);
    let with = |n: u64| {
        let counts = vec![[1_000, n - n / 100], [9_000, n / 100]];
        vec![Latency {
            direction: Direction::Read,
            counts,
        }]
    };
    let p99: Metric = MetricKind::Latency(Direction::Read, 990).into();
    session.latency = with(900);
    assert!(!metrics(&session).contains_key(&p99));
    session.latency = with(1_000);
    assert!(!metrics(&session)[&p99].gateable());
    session.latency = with(5_000);
    assert!(metrics(&session)[&p99].gateable());
    assert!(!metrics(&session).contains_key(&MetricKind::Latency(Direction::Read, 999).into()));
    session.latency[0].counts = vec![[1, u64::MAX], [2, 2]];
    assert!(
        !metrics(&session).contains_key(&p99),
        "an overflowing histogram is no sample"
    );
}

#[test]
fn a_round_without_bytes_or_time_yields_no_number() {
    let mut session = session("s", 0, &[(2.0, 1.0)]);
    session.rounds[0].legs[0].time.0 = 0;
    session.rounds[0].legs[1].bytes.0 = 0;
    let all = metrics(&session);
    assert!(!all.contains_key(&MetricKind::Ratio.into()), "{all:?}");
    assert!(!all.contains_key(&MetricKind::Rate(Direction::Write).into()));
    session.rounds.clear();
    session.latency.clear();
    session.flush_cost = None;
    assert!(metrics(&session).is_empty());
}
