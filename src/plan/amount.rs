//! What a session costs: bytes that must be free, bytes it writes, the time it takes and the time it may take.

use super::key::exact;
use super::make::No;
use super::{Ask, LegPlan, MOST_WARM_UP, Plan, Source};
use crate::facts::Facts;
use crate::suite::{Direction, Test};
use crate::units::{Bytes, GIB, MIB, Nanos};

/// Most bytes a trial writes where the suite leaves the legs open.
const TRIAL_WRITES: u64 = 16 * GIB;
/// What one leg costs beside its own time and the still disk after it: eviction, counters, the flush.
const BETWEEN_LEGS: u64 = 50_000_000;
/// Least budget of a session.
const BUDGET: u64 = 60_000_000_000;
/// Budget of a trial: with layout and sizing it ends within a minute.
const TRIAL_BUDGET: u64 = 40_000_000_000;
/// Requests a leg has at least, for each one in flight.
const LEAST_REQUESTS: u64 = 50;
/// Layout rate assumed when telling beforehand how long a session takes.
const LAYOUT_RATE: u64 = 400_000_000;
/// Settling after the layout.
const SETTLE: u64 = 2_000_000_000;

/// Bytes that must be free and bytes that will be written, against what the disk and the user allow.
pub(super) fn bytes(plan: &mut Plan, facts: &Facts, ask: &Ask) -> Result<(), No> {
    if !matches!(plan.source, Source::Scratch(_)) {
        return Ok(());
    }
    let Some(layout) = plan.extent.0.checked_mul(u64::from(plan.workers)) else {
        return Err(No::Refuse(format!(
            "{} workers of {} each are more than any disk holds",
            plan.workers,
            exact(plan.extent.0)
        )));
    };
    let reserve = (layout / 50).max(16 * MIB);
    plan.needs = Bytes(layout.saturating_add(reserve));
    if plan.needs > facts.free {
        return Err(No::Refuse(format!(
            "too little space at {}: {} needed ({} to lay out and a reserve), {} free; lower `size` or `workers`",
            facts.target.display(),
            plan.needs,
            exact(layout),
            facts.free
        )));
    }
    let rounds = u64::from(plan.most_rounds());
    let requests = u64::from(plan.depth) * LEAST_REQUESTS * u64::from(plan.workers);
    let least = plan.block.0.saturating_mul(requests);
    let written = plan.legs.iter().filter(|l| l.direction == Direction::Write);
    let (mut total, mut open) = (layout, false);
    for leg in written {
        open |= leg.bytes.is_none();
        let each = leg.bytes.map_or(least, |b| b.0);
        total = total.saturating_add(each.saturating_mul(rounds));
    }
    // Rates are not known before the first byte: an open leg is kept short enough to stay within what is allowed.
    let most = if ask.trial {
        ask.max_write.0.min(TRIAL_WRITES)
    } else {
        ask.max_write.0
    };
    let warm_up = total_of_warm_up(plan);
    plan.writes = Bytes(if open {
        most
    } else {
        total.saturating_add(warm_up).min(ask.max_write.0)
    });
    if total > ask.max_write.0 {
        return Err(No::Refuse(format!(
            "{} writes {} in one session (layout {} and up to {rounds} rounds), more than max-write {}; \
             lower `size`, `workers` or `leg`, or raise max-write",
            plan.test,
            Bytes(total),
            exact(layout),
            ask.max_write
        )));
    }
    Ok(())
}

/// Bytes that warm-up rounds beyond the planned ones write when legs are short.
fn total_of_warm_up(plan: &Plan) -> u64 {
    let written = plan.legs.iter().filter(|l| l.direction == Direction::Write);
    let each = written.fold(0, |sum: u64, l| {
        sum.saturating_add(l.bytes.map_or(0, |b| b.0))
    });
    each.saturating_mul(u64::from(MOST_WARM_UP.saturating_sub(plan.warm_up)))
}

/// The time a leg is expected to take: as it once took, as a limit of its cgroup allows, or as it aims at. `None` when
/// its bytes are given and nothing tells a rate.
fn leg_time(leg: &LegPlan, facts: &Facts) -> Option<Nanos> {
    let Some(bytes) = leg.bytes else {
        return Some(leg.aim);
    };
    let limit = match leg.direction {
        Direction::Read => "cgroup.read_bps",
        Direction::Write => "cgroup.write_bps",
    };
    let limit = facts
        .settings
        .get(limit)
        .and_then(|rate| rate.parse().ok())
        .filter(|rate: &f64| rate.is_finite() && *rate >= 1.0);
    leg.took
        .or_else(|| Some(Nanos((bytes.0 as f64 / limit? * 1e9) as u64)))
}

/// Budget and expected time of one session.
pub(super) fn times(plan: &mut Plan, test: &Test, facts: &Facts, ask: &Ask) {
    let each: Vec<Option<Nanos>> = plan.legs.iter().map(|l| leg_time(l, facts)).collect();
    let round = plan
        .legs
        .iter()
        .zip(&each)
        .fold(0, |sum: u64, (leg, time)| {
            sum.saturating_add(time.unwrap_or(leg.aim).0)
                .saturating_add(BETWEEN_LEGS + plan.still.0)
        });
    let rounds = u64::from(plan.warm_up + plan.keep);
    let need = if ask.trial {
        TRIAL_BUDGET
    } else {
        round.saturating_mul(22).max(BUDGET)
    };
    plan.budget = test.budget.map_or(Nanos(need), Nanos::from);
    let layout = match plan.source {
        Source::Scratch(_) => plan.extent.0.saturating_mul(u64::from(plan.workers)),
        Source::Existing(_) | Source::Nowhere => 0,
    };
    let laying = if layout > 0 {
        SETTLE + layout.saturating_mul(10) / (LAYOUT_RATE / 100_000_000)
    } else {
        0
    };
    // Finding the leg bytes takes about two legs of each kind.
    let open = plan
        .legs
        .iter()
        .filter(|l| l.bytes.is_none())
        .map(|l| l.aim.0 * 2)
        .sum::<u64>();
    let measuring = round.saturating_mul(rounds).min(plan.budget.0);
    plan.expected = each
        .iter()
        .all(Option::is_some)
        .then_some(Nanos(laying + open + measuring));
}
