//! From the raw rounds of a session to its metrics, each in its own unit. Kept rounds only.

use std::collections::BTreeMap;

use crate::sample::{Fate, Latency, LegSample, Round, Session};
use crate::suite::{Direction, Metric, MetricKind};
use crate::units::Nanos;

use super::robust::{pooled_stat, session_stat, within_run};
use super::{Estimate, SessionStat, steady};

/// What a session yields for one metric, in the metric's unit; every number is finite and above zero.
#[derive(Debug, Clone, PartialEq)]
pub enum Yield {
    /// One value a kept round, in time order.
    Rounds(Vec<f64>),
    /// One value for the whole session: percentiles, flush, CPU.
    Pooled {
        /// The value and, where its own sample gives them, its 95 % limits.
        value: Estimate,
        /// There were enough samples to judge by.
        gateable: bool,
    },
}

impl Yield {
    /// On the log scale, turned so that more is better (`sign` −1 where less is).
    #[must_use]
    pub fn stat(&self, higher_is_better: bool) -> Option<SessionStat> {
        let sign = if higher_is_better { 1.0 } else { -1.0 };
        match self {
            Self::Rounds(values) => session_stat(
                &logarithms(values)
                    .iter()
                    .map(|y| sign * y)
                    .collect::<Vec<_>>(),
            ),
            Self::Pooled { value, .. } => pooled_stat(sign * value.value.ln()),
        }
    }

    /// How far the last third of the rounds lies from the first, on the log scale, where that is a change of regime.
    #[must_use]
    pub fn regime_shift(&self) -> Option<f64> {
        match self {
            Self::Rounds(values) => steady::regime_shift(&logarithms(values)),
            Self::Pooled { .. } => None,
        }
    }

    /// How far rounds that read first lie from rounds that wrote first, on the log scale, where that is more than
    /// chance and more than half of `theta`. `session` is the one that yielded this.
    #[must_use]
    pub fn order_effect(&self, session: &Session, theta: f64) -> Option<f64> {
        let Self::Rounds(values) = self else {
            return None;
        };
        let reads_first: Vec<bool> = kept_rounds(session)
            .map(|r| {
                r.legs
                    .first()
                    .is_some_and(|l| l.direction == Direction::Read)
            })
            .collect();
        if reads_first.len() != values.len() {
            return None;
        }
        let of = |wanted: bool| -> Vec<f64> {
            let chosen = reads_first
                .iter()
                .zip(values)
                .filter(|(first, _)| **first == wanted);
            chosen.map(|(_, v)| v.ln()).collect()
        };
        steady::order_effect(&of(true), &of(false), theta)
    }

    /// Whether there were enough samples to judge by.
    #[must_use]
    pub fn gateable(&self) -> bool {
        match self {
            Self::Rounds(values) => !values.is_empty(),
            Self::Pooled { gateable, .. } => *gateable,
        }
    }
}

/// Every metric a session yields.
///
/// `ratio` is (bytes_r / t_r) / (bytes_w / (t_w + drain)) of the same round; `read` and `write` are bytes over the
/// time until they had left the host's reach; percentiles need ten samples above them.
#[must_use]
pub fn metrics(session: &Session) -> BTreeMap<Metric, Yield> {
    let kept: Vec<&Round> = kept_rounds(session).collect();
    let mut all = BTreeMap::new();
    let mut rounds = |kind: MetricKind, of: &dyn Fn(&Round) -> Option<f64>| {
        let values: Vec<f64> = kept.iter().filter_map(|r| of(r)).filter(positive).collect();
        if !values.is_empty() {
            all.insert(kind.into(), Yield::Rounds(values));
        }
    };
    rounds(MetricKind::Ratio, &|r| {
        Some(rate(r, Direction::Read)? / rate(r, Direction::Write)?)
    });
    for way in [Direction::Read, Direction::Write] {
        rounds(MetricKind::Rate(way), &|r| rate(r, way));
        rounds(MetricKind::Iops(way), &|r| {
            per_second(r, way, |l| l.requests, LegSample::settled_time)
        });
    }
    rounds(MetricKind::WriteAccepted, &|r| {
        per_second(r, Direction::Write, |l| l.bytes.0, |l| l.time)
    });
    for latency in &session.latency {
        for thousandth in [500, 990, 999] {
            if let Some(value) = percentile(latency, thousandth) {
                all.insert(
                    MetricKind::Latency(latency.direction, thousandth).into(),
                    value,
                );
            }
        }
    }
    let flush = session.flush_cost.map(|n| n.0 as f64);
    for (kind, value) in [(MetricKind::Flush, flush), (MetricKind::Cpu, cpu(&kept))] {
        if let Some(v) = value.filter(positive) {
            all.insert(kind.into(), pooled(v));
        }
    }
    all
}

/// The rounds that count.
pub fn kept_rounds(session: &Session) -> impl Iterator<Item = &Round> {
    session.rounds.iter().filter(|r| r.fate == Fate::Kept)
}

/// One metric of several sessions on the log scale; `None` unless every one of them yields it.
#[must_use]
pub fn stats_of(sessions: &[BTreeMap<Metric, Yield>], metric: &Metric) -> Option<Vec<SessionStat>> {
    let better = metric.kind.higher_is_better();
    sessions
        .iter()
        .map(|s| s.get(metric)?.stat(better))
        .collect()
}

/// One metric of several sessions as one value with its 95 % limits within the run, in its own unit.
#[must_use]
pub fn estimate_of(sessions: &[BTreeMap<Metric, Yield>], metric: &Metric) -> Option<Estimate> {
    let yields: Vec<&Yield> = sessions.iter().filter_map(|s| s.get(metric)).collect();
    if let [Yield::Pooled { value, .. }] = yields[..] {
        return Some(*value);
    }
    let stats: Vec<SessionStat> = yields.iter().filter_map(|y| y.stat(true)).collect();
    let on_log = within_run(&stats)?;
    let mut estimate = Estimate {
        value: on_log.value.exp(),
        lower: on_log.lower.exp(),
        upper: on_log.upper.exp(),
    };
    // Pooled values bring their limits along; the widest of them cover the run.
    for y in yields {
        if let Yield::Pooled { value, .. } = y {
            estimate.lower = estimate.lower.min(value.lower);
            estimate.upper = estimate.upper.max(value.upper);
        }
    }
    Some(estimate)
}

fn logarithms(values: &[f64]) -> Vec<f64> {
    values.iter().map(|v| v.ln()).collect()
}

fn rate(round: &Round, way: Direction) -> Option<f64> {
    per_second(round, way, |l| l.bytes.0, LegSample::settled_time)
}

/// Sum of a count over the legs of one direction, per second of their time; `None` without such a leg or time.
fn per_second(
    round: &Round,
    way: Direction,
    count: impl Fn(&LegSample) -> u64,
    time: impl Fn(&LegSample) -> Nanos,
) -> Option<f64> {
    let legs = || round.legs.iter().filter(|l| l.direction == way);
    let seconds: f64 = legs().map(|l| time(l).seconds()).sum();
    let total: f64 = legs().map(|l| count(l) as f64).sum();
    (seconds > 0.0).then(|| total / seconds)
}

/// CPU nanoseconds a byte over all kept rounds: one leg is too short for a clock of ticks.
fn cpu(kept: &[&Round]) -> Option<f64> {
    let legs = || kept.iter().flat_map(|r| &r.legs);
    let time: f64 = legs()
        .map(|l| l.cpu_user.0 as f64 + l.cpu_system.0 as f64)
        .sum();
    let bytes: f64 = legs().map(|l| l.bytes.0 as f64).sum();
    (bytes > 0.0).then(|| time / bytes)
}

fn pooled(value: f64) -> Yield {
    Yield::Pooled {
        value: Estimate {
            value,
            lower: value,
            upper: value,
        },
        gateable: true,
    }
}

/// A percentile with its 95 % limits by order statistics (the binomial spread of the rank).
fn percentile(latency: &Latency, thousandths: u16) -> Option<Yield> {
    let point = latency.percentile(thousandths)?;
    let (total, share) = (latency.count() as f64, f64::from(thousandths) / 1000.0);
    let rank = total * share;
    let spread = 1.96 * (rank * (1.0 - share)).sqrt();
    let at = |rank: f64| {
        let time = latency.at_rank(rank.ceil().max(1.0) as u64)?;
        Some(time.0 as f64)
    };
    let value = Estimate {
        value: point.value.0 as f64,
        lower: at(rank - spread)?,
        upper: at(rank + spread + 1.0)?,
    };
    positive(&value.lower).then_some(Yield::Pooled {
        value,
        gateable: point.gated(),
    })
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "used with filter")]
fn positive(value: &f64) -> bool {
    value.is_finite() && *value > 0.0
}
