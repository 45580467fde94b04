//! The control loop of one session: lay out, settle, find the leg bytes, warm up, measure rounds until enough are kept.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use hdrhistogram::Histogram;

use super::leg::Done;
use super::runs::{Space, reuse_distance, turned};
use super::{Disk, Interrupt, check, latencies};
use crate::plan::{FixedLeg, Plan, Source};
use crate::sample::{
    Fate, Latency, Layout, LegSample, MeasureError, REREADS, Round, Session, WRITE_CACHE, Witness,
};
use crate::suite::{Cache, Direction};
use crate::units::{Bytes, MIB, Nanos};

/// Drain, as a share of the write's own time, above which the writes end in a cache below.
pub(super) const DRAIN_SHARE: f64 = 0.10;
/// Share of void rounds a session bears is one in four: one void for each three to keep.
const KEPT_PER_VOID: u32 = 3;

/// What a session is given beside its plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// Seed of order, offsets and data. The plan's for a first session, derived from it for later ones.
    pub seed: u64,
    /// The legs as an earlier session of the same run found them. Stronger than the plan's.
    pub fixed: Option<Vec<FixedLeg>>,
    /// Time the disk is left alone after the layout, and least time of the warm-up: two seconds in use.
    pub settle: Nanos,
}

impl Terms {
    /// The terms in use, for a first session.
    #[must_use]
    pub fn first(plan: &Plan) -> Self {
        Self {
            seed: plan.seed,
            fixed: None,
            settle: Nanos(2_000_000_000),
        }
    }
}

/// Measures one session on a disk made for it.
///
/// `boot_id`, `revision` and `settings` of the result are left empty: the engine knows no facts. With the budget used
/// up it holds fewer kept rounds than planned.
///
/// # Errors
/// [`MeasureError::NotTheDisk`] as soon as a leg's bytes did not come from the disk; [`MeasureError::Disturbed`] when
/// more than a quarter of the rounds were void; a failed or short request; a signal.
pub fn session(
    plan: &Plan,
    disk: &mut dyn Disk,
    witness: &dyn Witness,
    interrupt: &Interrupt,
    terms: &Terms,
) -> Result<Session, MeasureError> {
    let started = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| d.as_secs());
    let begin = disk.now();
    let mut run = Run::new(plan, disk, witness, interrupt, terms);
    run.place_legs();
    run.lay_out()?;
    run.cost_of_a_flush()?;
    run.find_leg_bytes()?;
    run.warm_memory();
    let rounds_begin = run.disk.now();
    run.warm_up()?;
    run.rounds(rounds_begin)?;
    run.conclude();
    Ok(run.into_session(started, begin))
}

/// A session in the making.
pub(super) struct Run<'a> {
    pub(super) plan: &'a Plan,
    pub(super) disk: &'a mut dyn Disk,
    pub(super) witness: &'a dyn Witness,
    pub(super) interrupt: &'a Interrupt,
    pub(super) terms: &'a Terms,
    /// Bytes of each leg over all workers, where they are fixed.
    pub(super) fixed: Vec<Option<u64>>,
    /// The same as they are now.
    pub(super) bytes: Vec<u64>,
    /// How long each leg rightly takes; `None` until a leg of given bytes has run.
    pub(super) took: Vec<Option<Nanos>>,
    pub(super) spaces: Vec<Space>,
    /// Byte of the walk at which each leg goes on.
    pub(super) cursors: Vec<u64>,
    pub(super) legs_run: u64,
    pub(super) written: u64,
    pub(super) flush_cost: Option<Nanos>,
    pub(super) layout: Option<Layout>,
    pub(super) buffered_below: bool,
    /// Bytes the device writes for each of ours, as the warm-up showed.
    pub(super) amp: f64,
    /// Somebody wrote on after a leg of the warm-up.
    pub(super) restless: bool,
    pub(super) rounds: Vec<Round>,
    latency: BTreeMap<Direction, Histogram<u64>>,
    tails: Vec<f64>,
    notes: Vec<String>,
}

impl<'a> Run<'a> {
    fn new(
        plan: &'a Plan,
        disk: &'a mut dyn Disk,
        witness: &'a dyn Witness,
        interrupt: &'a Interrupt,
        terms: &'a Terms,
    ) -> Self {
        let legs = plan.legs.len();
        Self {
            plan,
            disk,
            witness,
            interrupt,
            terms,
            fixed: vec![None; legs],
            bytes: vec![0; legs],
            took: vec![None; legs],
            spaces: Vec::new(),
            cursors: vec![0; legs],
            legs_run: 0,
            written: 0,
            flush_cost: None,
            layout: None,
            buffered_below: false,
            amp: 1.0,
            restless: false,
            rounds: Vec::new(),
            latency: BTreeMap::new(),
            tails: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// A remark for the record, once.
    pub(super) fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Rounds until enough are kept, too many are void, or time or bytes are used up. A void round is repeated in its
    /// own order, so that the kept ones stay balanced.
    fn rounds(&mut self, begin: Nanos) -> Result<(), MeasureError> {
        let budget = self.budget(begin);
        let (mut kept, mut void) = (0, 0);
        while kept < self.plan.keep {
            let spent = self.disk.now().0 - begin.0;
            if spent >= budget.0 {
                self.note(format!(
                    "the budget of {budget} ended after {kept} of {} rounds",
                    self.plan.keep
                ));
                break;
            }
            if self.exhausted() {
                self.note(format!(
                    "the {} a session may write were used up after {kept} of {} rounds",
                    self.plan.writes, self.plan.keep
                ));
                break;
            }
            let (round, done) = self.round(turned(self.terms.seed, kept))?;
            match &round.fate {
                Fate::Void(why) => {
                    void += 1;
                    if void > self.plan.keep / KEPT_PER_VOID {
                        return Err(MeasureError::Disturbed(format!(
                            "{void} of {} rounds were disturbed, the last one by {why}; more than a quarter is not a measurement",
                            kept + void
                        )));
                    }
                }
                Fate::Kept | Fate::WarmUp => {
                    kept += 1;
                    self.keep(done);
                }
            }
            self.rounds.push(round);
        }
        if void > 0 {
            self.note(format!(
                "{void} of {} rounds were disturbed and repeated",
                kept + void
            ));
        }
        Ok(())
    }

    /// Whether another round would write more than the plan allows.
    fn exhausted(&self) -> bool {
        let legs = self.plan.legs.iter().zip(&self.bytes);
        let next: u64 = legs
            .filter(|(l, _)| l.direction == Direction::Write)
            .map(|(_, b)| b)
            .sum();
        self.scratch() && next > 0 && self.written + next > self.plan.writes.0
    }

    /// Whether the files are ours to write.
    pub(super) fn scratch(&self) -> bool {
        matches!(self.plan.source, Source::Scratch(_))
    }

    /// The plan's budget; one that the suite did not write grows with legs that turned out longer than aimed at.
    fn budget(&self, begin: Nanos) -> Nanos {
        let warm_up = self.disk.now().0 - begin.0;
        let warmed = self.rounds.len().max(1) as u64;
        let need = warm_up / warmed * u64::from(self.plan.warm_up + self.plan.keep);
        // Sizing hits its aim by a tenth.
        let mut legs = self.plan.legs.iter().zip(&self.took);
        let grown = legs.any(|(leg, took)| took.is_some_and(|t| t.0 / 11 > leg.aim.0 / 10));
        if grown && !self.plan.budget_given {
            Nanos(self.plan.budget.0.max(need * 5 / 4))
        } else {
            self.plan.budget
        }
    }

    /// One round: every leg once, in the order asked for.
    pub(super) fn round(&mut self, turned: bool) -> Result<(Round, Vec<Done>), MeasureError> {
        let before = self.witness.counters().steal;
        let mut order: Vec<usize> = (0..self.plan.legs.len()).collect();
        if turned {
            order.reverse();
        }
        let legs = order
            .into_iter()
            .map(|i| self.leg(i))
            .collect::<Result<Vec<Done>, _>>()?;
        let after = self.witness.counters().steal;
        let steal = check::steal(before, after);
        let stolen = (self.disk.files() > 0 && check::is_stolen(before, after)).then(|| {
            let percent = steal.unwrap_or_default() * 100.0;
            format!("the hypervisor, which took {percent:.0} % of the CPU time")
        });
        let void = legs.iter().find_map(|l| l.void.clone()).or(stolen);
        let samples: Vec<LegSample> = legs.iter().map(|l| l.sample.clone()).collect();
        let fate = void.map_or(Fate::Kept, Fate::Void);
        Ok((
            Round {
                fate,
                legs: samples,
                steal,
            },
            legs,
        ))
    }

    fn keep(&mut self, legs: Vec<Done>) {
        for leg in legs {
            self.tails.push(leg.tail);
            let pool = self
                .latency
                .entry(leg.sample.direction)
                .or_insert_with(latencies);
            // Both have the same constant bounds.
            if pool.add(&leg.latency).is_err() {
                self.note("latencies beyond ten minutes were left out");
            }
        }
    }

    /// Remarks that need the whole session.
    fn conclude(&mut self) {
        let kept = self.rounds.iter().filter(|r| r.fate == Fate::Kept);
        let writes = kept
            .flat_map(|r| &r.legs)
            .filter(|l| l.direction == Direction::Write);
        let shares = writes
            .map(|l| l.drain.0 as f64 / l.time.0.max(1) as f64)
            .collect();
        if self.plan.cache == Cache::Direct && median(shares).is_some_and(|s| s > DRAIN_SHARE) {
            self.note(WRITE_CACHE);
        }
        self.conclude_reuse();
        self.cost_of_a_request();
        if self.plan.workers > 1
            && let Some(tail) = median(std::mem::take(&mut self.tails))
        {
            self.note(format!(
                "the last worker ended {:.1} % after the first",
                tail * 100.0
            ));
        }
        for note in self.disk.notes() {
            self.note(note);
        }
    }

    /// Tells when a byte is read again so soon that a cache below may still hold it.
    fn conclude_reuse(&mut self) {
        let distance = reuse_distance(self.plan, &self.spaces, &self.bytes);
        let measured = self.disk.files() > 0;
        if let Some(distance) = distance.filter(|d| measured && *d < self.plan.reread_after) {
            self.note(format!("{REREADS} {} MiB", distance.0 / MIB));
        }
    }

    /// Without a disk the time of a request is the harness's own: stamps and clock, and for writes the data's stamps.
    fn cost_of_a_request(&mut self) {
        if self.disk.files() > 0 {
            return;
        }
        let legs: Vec<_> = self.plan.legs.iter().map(|l| l.direction).collect();
        for direction in legs {
            let kept = self.rounds.iter().filter(|r| r.fate == Fate::Kept);
            let legs = kept
                .flat_map(|r| &r.legs)
                .filter(|l| l.direction == direction);
            let workers = u64::from(self.plan.workers);
            let costs = legs
                .map(|l| l.time.0 * workers / l.requests.max(1))
                .collect();
            if let Some(cost) = median::<u64>(costs) {
                let what = match direction {
                    Direction::Read => "the clock and the tally",
                    Direction::Write => "the clock, the tally and the stamps of its data",
                };
                self.note(format!(
                    "a {direction} request costs {cost} ns beside its I/O: {what}"
                ));
            }
        }
    }

    fn into_session(self, started: u64, begin: Nanos) -> Session {
        let mut workload = self.plan.key.clone();
        for (leg, bytes) in self.plan.legs.iter().zip(&self.bytes) {
            workload.insert(format!("leg.{}", leg.rw.word()), crate::plan::exact(*bytes));
        }
        if self.buffered_below && self.plan.cache == Cache::Direct {
            workload.insert(
                "cache".into(),
                "direct (buffered by the file system)".into(),
            );
        }
        let latency = self
            .latency
            .into_iter()
            .map(|(direction, pool)| sparse(direction, &pool))
            .collect();
        Session {
            id: format!("{started}-{:016x}", self.terms.seed),
            started,
            seconds: Nanos(self.disk.now().0 - begin.0).seconds(),
            boot_id: String::new(),
            pid: std::process::id(),
            seed: self.terms.seed,
            version: env!("CARGO_PKG_VERSION").into(),
            revision: None,
            debug_assertions: cfg!(debug_assertions),
            workload,
            leg_bytes: self.bytes.iter().copied().map(Bytes).collect(),
            settings: crate::facts::Settings::new(),
            flush_cost: self.flush_cost,
            reuse_distance: reuse_distance(self.plan, &self.spaces, &self.bytes),
            layout: self.layout,
            rounds: self.rounds,
            latency,
            notes: self.notes,
        }
    }
}

fn sparse(direction: Direction, pool: &Histogram<u64>) -> Latency {
    let counts = pool
        .iter_recorded()
        .map(|v| [v.value_iterated_to(), v.count_at_value()]);
    Latency {
        direction,
        counts: counts.collect(),
    }
}

/// The middle value, the lower one of two.
pub(super) fn median<T: PartialOrd>(mut values: Vec<T>) -> Option<T> {
    values.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    let middle = values.len().checked_sub(1)? / 2;
    Some(values.swap_remove(middle))
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
