//! One leg within a session: a clean page cache before, counters around, a flush and a still disk after.

use hdrhistogram::Histogram;

use super::session::Run;
use super::{LegSpec, LegTally, check, runs};
use crate::plan::FlushPlan;
use crate::sample::{Counters, LegSample, MeasureError};
use crate::suite::{Cache, Direction};
use crate::units::{Bytes, Nanos};

/// Time after which the wait for that is given up and the round is void.
const STILL_LIMIT: u64 = 5_000_000_000;
/// Between two looks.
const LOOK: Nanos = Nanos(10_000_000);
/// A leg this many times slower than expected ends with the bytes it did.
const SLOW: u64 = 4;
/// No leg is cut before this, however short it is meant to be: a pause of the scheduler is no slow disk.
const LEAST_LIMIT: u64 = 1_000_000_000;
/// Eviction is tried this often: pages on their way to the LRU list are missed by the first try.
const EVICTIONS: u32 = 5;

/// A leg that was run.
pub(super) struct Done {
    /// Of the plan's legs.
    pub(super) index: usize,
    pub(super) sample: LegSample,
    pub(super) latency: Histogram<u64>,
    /// Nobody wrote any more when its counters were read.
    pub(super) still: bool,
    /// Who disturbed it.
    pub(super) void: Option<String>,
    /// Time from the first worker's end to the last one's, as a share of the leg.
    pub(super) tail: f64,
}

impl Run<'_> {
    /// Runs leg `index` of the plan with its present bytes and goes on with its walk.
    pub(super) fn leg(&mut self, index: usize) -> Result<Done, MeasureError> {
        self.interrupt.check()?;
        self.clean_cache()?;
        let spec = self.spec(index);
        let before = self.witness.counters();
        let tally = self.disk.run(&spec, self.interrupt)?;
        self.interrupt.check()?;
        let writes = spec.direction == Direction::Write;
        let flush = if writes { self.disk.flush()? } else { Nanos(0) };
        let still = self.wait_until_still()?;
        let after = self.witness.counters();
        self.cursors[index] += spec.bytes;
        self.legs_run += 1;
        if writes {
            self.written += tally.moved.0;
        }
        let mut sample = self.sample(spec.direction, &tally, flush);
        count(&mut sample, &before, &after);
        let mut void = self.judge(&sample, &tally, &before, &after)?;
        if !still {
            void = void.or(Some(
                "writes that did not end within five seconds after a leg".into(),
            ));
        }
        if tally.bytes.0 == 0 {
            void = void.or(Some("workers that never worked at the same time".into()));
        }
        let tail = tally.tail.0 as f64 / tally.time.0.max(1) as f64;
        Ok(Done {
            index,
            sample,
            latency: tally.latency,
            still,
            void,
            tail,
        })
    }

    fn spec(&self, index: usize) -> LegSpec {
        let leg = &self.plan.legs[index];
        LegSpec {
            rw: leg.rw,
            direction: leg.direction,
            space: self.spaces[index],
            from: self.cursors[index],
            bytes: self.bytes[index] / u64::from(self.plan.workers),
            shuffle: runs::mix(self.terms.seed ^ index as u64),
            // The layout is generation 0.
            generation: self.legs_run + 1,
            // Nothing is expected of bytes the user wrote until such a leg has run.
            limit: Nanos(
                self.took[index].map_or(u64::MAX, |t| t.0.saturating_mul(SLOW).max(LEAST_LIMIT)),
            ),
        }
    }

    fn sample(&self, direction: Direction, tally: &LegTally, flush: Nanos) -> LegSample {
        let drain = match (self.plan.cache, self.plan.flush) {
            // Through the page cache a byte is written when it is durable.
            (Cache::Buffered, _) => flush.0,
            (Cache::Direct, FlushPlan::End) => {
                flush.0.saturating_sub(self.flush_cost.map_or(0, |c| c.0))
            }
            (Cache::Direct, FlushPlan::None) => 0,
        };
        LegSample {
            direction,
            bytes: tally.bytes,
            time: tally.time,
            flush,
            drain: Nanos(drain),
            requests: tally.requests,
            cpu_user: tally.cpu_user,
            cpu_system: tally.cpu_system,
            own: None,
            device: None,
            device_other: None,
            series: tally.series.clone(),
        }
    }

    /// Asks the witness about a leg. The null engine is exempt by name: it is never judged, kept or accepted.
    fn judge(
        &mut self,
        sample: &LegSample,
        tally: &LegTally,
        before: &Counters,
        after: &Counters,
    ) -> Result<Option<String>, MeasureError> {
        if self.disk.files() == 0 {
            return Ok(None);
        }
        let read_ahead = self
            .plan
            .read_ahead
            .0
            .saturating_mul(2 * u64::from(self.plan.workers));
        let finding = check::leg(&check::Counted {
            direction: sample.direction,
            moved: tally.moved,
            own: sample.own,
            device: sample.device,
            device_other: sample.device_other,
            own_other: change(before, after, check::opposite(sample.direction)).0,
            read_ahead: Bytes(if self.plan.cache == Cache::Buffered {
                read_ahead
            } else {
                0
            }),
            amp: match sample.direction {
                Direction::Read => 1.0,
                Direction::Write => self.amp,
            },
        });
        for note in finding.notes {
            self.note(note);
        }
        finding
            .not_the_disk
            .map_or(Ok(finding.void), |why| Err(MeasureError::NotTheDisk(why)))
    }

    /// No page of the files may be in the page cache: buffered legs start cold, direct ones have nothing to be served
    /// from. Where a file system buffers direct writes all the same, that is noted.
    fn clean_cache(&mut self) -> Result<(), MeasureError> {
        let buffered = self.plan.cache == Cache::Buffered;
        let mut resident = self.resident();
        if resident.is_some_and(|b| b.0 > 0) && !buffered && self.legs_run > 0 && self.scratch() {
            self.buffered_below = true;
            self.note("direct I/O left pages in the page cache: the file system buffers it");
        }
        if !buffered && resident == Some(Bytes(0)) {
            return Ok(());
        }
        for _ in 0..EVICTIONS {
            self.disk.refresh()?;
            resident = self.resident();
            if resident.is_none_or(|b| b.0 == 0) {
                break;
            }
            self.disk.wait(LOOK, self.interrupt);
        }
        match resident {
            Some(Bytes(0)) => Ok(()),
            // A mounted device keeps its superblock in the cache. Direct reads go around it, and their bytes are proven
            // by the process's own counters.
            Some(bytes) if !buffered && !self.scratch() => {
                self.note(format!(
                    "{bytes} of what is read stay in the page cache, held by others"
                ));
                Ok(())
            }
            Some(bytes) => Err(MeasureError::NotTheDisk(format!(
                "{bytes} of the file stay in the page cache after eviction, so reads would come from memory; \
                 another process may hold it open or mapped"
            ))),
            None if self.disk.files() == 0 => Ok(()),
            None => {
                self.note("the page cache cannot be asked what it holds of the file");
                Ok(())
            }
        }
    }

    /// Bytes of all files in the page cache.
    fn resident(&self) -> Option<Bytes> {
        let files = (0..self.disk.files()).filter_map(|i| self.disk.file(i));
        let mut sum = None;
        for file in files {
            sum = Some(Bytes(
                sum.map_or(0, |s: Bytes| s.0) + self.witness.resident(file)?.0,
            ));
        }
        sum
    }

    /// Waits until nothing is in flight and nothing was written for as long as the plan says; `false` when that takes over five seconds.
    pub(super) fn wait_until_still(&mut self) -> Result<bool, MeasureError> {
        if self.disk.files() == 0 {
            return Ok(true);
        }
        let begin = self.disk.now();
        let mut since = begin;
        let mut last = self.witness.counters().device_written;
        loop {
            let (written, in_flight) = (
                self.witness.counters().device_written,
                self.witness.in_flight(),
            );
            let now = self.disk.now();
            if written.is_none() && in_flight.is_none() {
                return Ok(true);
            }
            if written != last || in_flight.is_some_and(|n| n > 0) {
                (last, since) = (written, now);
            }
            if now.0 - since.0 >= self.plan.still.0 {
                return Ok(true);
            }
            if now.0 - begin.0 >= STILL_LIMIT {
                return Ok(false);
            }
            self.interrupt.check()?;
            self.disk.wait(LOOK, self.interrupt);
        }
    }
}

/// Writes what the counters say into a sample.
fn count(sample: &mut LegSample, before: &Counters, after: &Counters) {
    (sample.own, sample.device) = change(before, after, sample.direction);
    sample.device_other = change(before, after, check::opposite(sample.direction)).1;
}

/// Own and device bytes of one direction between two readings; `None` where either is missing or ran backwards.
fn change(
    before: &Counters,
    after: &Counters,
    direction: Direction,
) -> (Option<Bytes>, Option<Bytes>) {
    let difference = |a: Option<u64>, b: Option<u64>| b?.checked_sub(a?).map(Bytes);
    match direction {
        Direction::Read => (
            difference(before.own_read, after.own_read),
            difference(before.device_read, after.device_read),
        ),
        Direction::Write => (
            difference(before.own_written, after.own_written),
            difference(before.device_written, after.device_written),
        ),
    }
}
