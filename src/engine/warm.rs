//! What a session does and learns before its first counted round: memory that is there, rounds that are dropped, how
//! long a leg rightly takes, how many bytes the device writes for each of ours.

use std::ops::RangeInclusive;

use super::leg::Done;
use super::runs::turned;
use super::session::Run;
use crate::plan::MOST_WARM_UP;
use crate::sample::{Fate, LegSample, MeasureError};
use crate::suite::{Cache, Direction};
use crate::units::{Bytes, Nanos};

/// Warm-up legs whose device bytes are the same multiple of ours within this factor tell of the file system, not of a
/// neighbour.
const AGREE: f64 = 1.1;
/// Further from one than this is worth a word.
const ODD: f64 = 0.02;
/// From well compressed data to a threefold mirror.
const AMPS: RangeInclusive<f64> = 0.05..=3.5;

impl Run<'_> {
    /// Buffered legs need page cache for themselves and what is read ahead of them.
    pub(super) fn warm_memory(&mut self) {
        if self.plan.cache == Cache::Buffered {
            let longest = self.bytes.iter().max().copied().unwrap_or(0);
            self.disk.warm_memory(Bytes(longest.saturating_mul(2)));
        }
    }

    /// Rounds that are dropped by rule before anything is looked at, so that dropping is blind to speed.
    pub(super) fn warm_up(&mut self) -> Result<(), MeasureError> {
        let begin = self.disk.now();
        let mut count = 0;
        let goes_on = |run: &Self, count: u32| {
            let soon = run.disk.now().0 - begin.0 < run.terms.settle.0;
            count < run.plan.warm_up || soon && count < MOST_WARM_UP
        };
        while goes_on(self, count) {
            let (mut round, done) = self.round(turned(!self.terms.seed, count))?;
            // A leg after which somebody went on writing tells nothing of the file system.
            let restless = done.iter().any(|d| !d.still);
            self.restless |= restless;
            round.fate = Fate::WarmUp;
            self.rounds.push(round);
            self.learn_times(&done);
            count += 1;
        }
        self.learn_amp();
        Ok(())
    }

    /// A mirror writes twice what it is given, a copy-on-write tree its own blocks beside ours: no neighbour did that.
    /// Believed only of legs that agree, and after each of which nobody wrote for a while; a neighbour who writes in
    /// step with us would have to know us.
    fn learn_amp(&mut self) {
        let warm = self.rounds.iter().filter(|r| r.fate == Fate::WarmUp);
        let writes = warm
            .flat_map(|r| &r.legs)
            .filter(|l| l.direction == Direction::Write);
        let ratio = |l: &LegSample| l.own.zip(l.device).filter(|(own, _)| own.0 > 0);
        let mut ratios: Vec<f64> = writes
            .filter_map(ratio)
            .map(|(own, device)| device.0 as f64 / own.0 as f64)
            .collect();
        ratios.sort_by(f64::total_cmp);
        let (Some(least), Some(most)) = (ratios.first(), ratios.last()) else {
            return;
        };
        let (agree, odd) = (*most <= least * AGREE, (*most - 1.0).abs() > ODD);
        if !self.restless
            && ratios.len() > 1
            && agree
            && odd
            && AMPS.contains(least)
            && AMPS.contains(most)
        {
            self.amp = ratios[ratios.len() / 2];
            self.note(format!(
                "the device writes {:.2} bytes for each byte of ours",
                self.amp
            ));
        }
    }

    /// The longest warm-up leg tells what a leg of given bytes rightly takes where nothing else does.
    fn learn_times(&mut self, done: &[Done]) {
        for leg in done {
            let known = self.fixed[leg.index].is_none() || self.given_time(leg.index).is_some();
            if !known {
                let time = leg.sample.settled_time();
                let longest = self.took[leg.index].map_or(time, |t| t.max(time));
                self.took[leg.index] = Some(longest);
            }
        }
    }

    /// The time a leg of fixed bytes took when they were fixed.
    pub(super) fn given_time(&self, index: usize) -> Option<Nanos> {
        let given = self.terms.fixed.as_deref().unwrap_or_default();
        given
            .get(index)
            .map_or(self.plan.legs[index].took, |leg| leg.took)
    }
}
