//! What a session does before its first round: the layout, the cost of a flush, and how many bytes a leg moves.

use super::runs::{file_sizes, spaces};
use super::session::{DRAIN_SHARE, Run, median};
use crate::plan::MOST_REQUESTS;
use crate::sample::{FRAGMENTED, Layout, MeasureError};
use crate::suite::{Cache, Direction};
use crate::units::{Bytes, MIB, Nanos};

/// Flushes whose median is the cost of one.
const FLUSHES: usize = 5;
/// Requests of a leg for each one in flight, at least.
const LEAST_REQUESTS: u64 = 50;
/// Steps in which a short leg grows towards its aim.
const STEPS: u32 = 12;
/// Times the bytes of a write leg double because of its drain.
const DOUBLINGS: u32 = 2;
/// Legs that confirm the bytes found, at most.
const CONFIRMATIONS: u32 = 4;
/// A doubled leg never takes longer.
const LONGEST: u64 = 10_000_000_000;
/// Extents smaller than this on average make a file `fragmented`.
const FRAGMENT: u64 = 16 * MIB;

impl Run<'_> {
    /// Settles where the legs lie as far as their bytes are fixed; open ones are found in the two halves of the extent.
    pub(super) fn place_legs(&mut self) {
        let given = self.terms.fixed.as_deref().unwrap_or_default();
        let half = self.plan.extent.0 * u64::from(self.plan.workers) / 2;
        for (index, leg) in self.plan.legs.iter().enumerate() {
            self.fixed[index] = given.get(index).map(|f| f.bytes).or(leg.bytes).map(|b| b.0);
            self.bytes[index] = self.fixed[index].unwrap_or(half);
        }
        self.spaces = spaces(self.plan, &self.bytes);
    }

    /// Writes every byte of the scratch once, lets it settle, and asks the witness how it lies.
    pub(super) fn lay_out(&mut self) -> Result<(), MeasureError> {
        if self.scratch() {
            for (file, size) in file_sizes(self.plan).into_iter().enumerate() {
                self.disk.lay_out(file, 0..size, self.interrupt)?;
                self.written += size;
            }
            self.disk.flush()?;
            self.settle()?;
        }
        self.ask_layout()
    }

    fn settle(&mut self) -> Result<(), MeasureError> {
        self.disk.wait(self.terms.settle, self.interrupt);
        self.interrupt.check()?;
        self.wait_until_still().map(drop)
    }

    fn ask_layout(&mut self) -> Result<(), MeasureError> {
        let files = (0..self.disk.files()).filter_map(|i| self.disk.file(i));
        let layouts: Option<Vec<Layout>> = files.map(|f| self.witness.layout(f)).collect();
        let Some(layouts) = layouts else {
            self.note("the file system does not tell where the file lies: layout unknown");
            return Ok(());
        };
        let Some(first) = layouts.first() else {
            return Ok(());
        };
        let layout = Layout {
            extents: layouts.iter().map(|l| l.extents).sum(),
            position: first.position,
            not_data: Bytes(layouts.iter().map(|l| l.not_data.0).sum()),
        };
        self.layout = Some(layout);
        if !self.scratch() {
            return Ok(());
        }
        if layout.not_data.0 > 0 {
            return Err(MeasureError::NotTheDisk(format!(
                "{} of the file laid out are holes, unwritten or inline: reading them touches no disk",
                layout.not_data
            )));
        }
        let size: u64 = file_sizes(self.plan).iter().sum();
        if layout.extents > 1 && size / layout.extents < FRAGMENT {
            self.note(format!(
                "{FRAGMENTED}: {} extents of {} on average",
                layout.extents,
                Bytes(size / layout.extents)
            ));
        }
        Ok(())
    }

    /// Median time of an fdatasync that has one small overwrite to make durable: what a flush costs beside its drain.
    pub(super) fn cost_of_a_flush(&mut self) -> Result<(), MeasureError> {
        self.spaces = spaces(self.plan, &self.bytes);
        let write = self
            .plan
            .legs
            .iter()
            .position(|l| l.direction == Direction::Write);
        let Some(index) = write.filter(|_| self.disk.files() > 0) else {
            return Ok(());
        };
        let mut times = Vec::with_capacity(FLUSHES);
        for _ in 0..FLUSHES {
            self.interrupt.check()?;
            self.disk.touch(&self.spaces[index])?;
            times.push(self.disk.flush()?);
        }
        self.flush_cost = median(times);
        Ok(())
    }

    /// Settles the bytes of each leg: as fixed, or such that it lasts as long as it aims at. What finding them wrote
    /// where reads will lie is laid out again.
    pub(super) fn find_leg_bytes(&mut self) -> Result<(), MeasureError> {
        for index in 0..self.plan.legs.len() {
            if self.fixed[index].is_none() {
                self.size(index)?;
            } else {
                self.took[index] = self.given_time(index);
            }
        }
        let halves = std::mem::take(&mut self.spaces);
        self.spaces = spaces(self.plan, &self.bytes);
        if self.fixed.contains(&None) && self.scratch() {
            self.mend(&halves)?;
        }
        self.cursors.fill(0);
        Ok(())
    }

    /// Lays out again what sizing wrote, unless the write leg kept its place.
    fn mend(&mut self, before: &[super::Space]) -> Result<(), MeasureError> {
        let mut mended = false;
        for (index, old) in before.iter().enumerate() {
            let write = self.plan.legs[index].direction == Direction::Write;
            if !write || *old == self.spaces[index] || self.cursors[index] == 0 {
                continue;
            }
            let length = self.cursors[index].min(old.size());
            for worker in 0..u64::from(self.plan.workers) {
                let start = old.offset(worker, 0);
                self.disk
                    .lay_out(old.file, start..start + length, self.interrupt)?;
                self.written += length;
            }
            mended = true;
        }
        if mended {
            self.disk.flush()?;
            self.settle()?;
        }
        Ok(())
    }

    /// Finds the bytes of one leg: short legs grow until one lasts half its aim, then its rate decides; a write whose
    /// drain is long gets more, so that the drive's cache fills.
    fn size(&mut self, index: usize) -> Result<(), MeasureError> {
        let aim = self.plan.legs[index].aim;
        let step = self.plan.block.0 * u64::from(self.plan.workers);
        let mut bytes = step * u64::from(self.plan.depth);
        let mut rate: f64 = 0.0;
        self.took[index] = Some(aim);
        for _ in 0..STEPS {
            self.bytes[index] = self.round_up(index, bytes);
            let done = self.leg(index)?;
            let time = done.sample.settled_time().seconds().max(1e-9);
            rate = done.sample.bytes.0 as f64 / time;
            if time >= aim.seconds() / 2.0 || self.bytes[index] >= self.most(index) {
                break;
            }
            let towards = 0.75 * aim.seconds() / time;
            bytes = (self.bytes[index] as f64 * towards.clamp(1.0, 8.0)) as u64;
        }
        let wanted = (rate * aim.seconds()) as u64;
        let bytes = self.enough_requests(index, wanted, rate);
        self.bytes[index] = self.round_up(index, bytes);
        if rate >= 1.0 {
            let expected = Nanos((self.bytes[index] as f64 / rate * 1e9) as u64);
            self.took[index] = Some(expected.max(aim));
        }
        self.confirm(index)
    }

    /// At least fifty requests for each one in flight, or a leg is mostly the filling and emptying of the queue. On a
    /// slow disk that makes it longer than its aim, by rule never longer than ten seconds.
    fn enough_requests(&mut self, index: usize, wanted: u64, rate: f64) -> u64 {
        let step = self.plan.block.0 * u64::from(self.plan.workers);
        let least = step * u64::from(self.plan.depth) * LEAST_REQUESTS;
        if least <= wanted {
            return wanted;
        }
        let word = self.plan.legs[index].rw.word();
        let longest = (rate * Nanos(LONGEST).seconds()) as u64;
        if least <= longest {
            let time = least as f64 / rate;
            if time > self.plan.legs[index].aim.seconds() * 1.5 {
                self.note(format!(
                    "{word} legs take {time:.1} s: {LEAST_REQUESTS} requests for each one in flight"
                ));
            }
            return least;
        }
        let bytes = longest.max(wanted);
        let requests = (bytes / step).max(1) as f64 / f64::from(self.plan.depth);
        self.note(format!(
            "{word} legs of 10 s hold {requests:.1} requests for each one in flight, {LEAST_REQUESTS} are wanted"
        ));
        bytes
    }

    /// Runs the leg at full length: one far shorter than its aim was sized by a moment's slowness and is sized again;
    /// direct writes that drain for long end in a cache below and get twice the bytes.
    fn confirm(&mut self, index: usize) -> Result<(), MeasureError> {
        let leg = &self.plan.legs[index];
        let drains = leg.direction == Direction::Write && self.plan.cache == Cache::Direct;
        let mut doublings = 0;
        for _ in 0..CONFIRMATIONS {
            let sample = self.leg(index)?.sample;
            let (time, most) = (sample.settled_time().0.max(1), self.most(index));
            let short = time < leg.aim.0 / 10 * 7;
            let drained = drains && sample.drain.0 as f64 > DRAIN_SHARE * sample.time.0 as f64;
            if short && self.bytes[index] < most {
                let factor = leg.aim.0 as f64 / time as f64;
                self.bytes[index] =
                    self.round_up(index, (self.bytes[index] as f64 * factor) as u64);
            } else if drained
                && doublings < DOUBLINGS
                && time * 2 <= LONGEST
                && self.bytes[index] * 2 <= most
                // Bytes written over again in the cache are not drained again.
                && self.bytes[index] <= self.plan.once()
            {
                self.bytes[index] *= 2;
                doublings += 1;
                self.took[index] = Some(Nanos(time * 2).max(leg.aim));
            } else {
                break;
            }
        }
        Ok(())
    }

    /// Whole requests of every worker; whole stripes and whole MiB where a leg is that long; never more than allowed.
    fn round_up(&self, index: usize, bytes: u64) -> u64 {
        let step = self.plan.block.0 * u64::from(self.plan.workers);
        let striped = lcm(self.plan.stripe.0.max(1), step);
        let units = [lcm(MIB, striped), striped];
        let unit = units.into_iter().find(|u| *u <= bytes).unwrap_or(step);
        let most = self.most(index);
        bytes
            .max(1)
            .next_multiple_of(unit)
            .min(most - most % step)
            .max(step)
    }

    /// Most bytes of a leg: its offsets fit in memory, and all its rounds stay within the bytes a session may write.
    fn most(&self, index: usize) -> u64 {
        let mut requests = self.plan.block.0.saturating_mul(MOST_REQUESTS);
        if self.plan.cache == Cache::Buffered {
            // The second time round it would come from the page cache.
            requests = requests.min(self.plan.once());
        }
        let written = self.plan.legs[index].direction == Direction::Write && self.scratch();
        if !written {
            return requests;
        }
        let writers = self
            .plan
            .legs
            .iter()
            .filter(|l| l.direction == Direction::Write)
            .count() as u64;
        let laid: u64 = file_sizes(self.plan).iter().sum();
        // Sizing takes about as much as six more rounds.
        let share = (self.plan.writes.0.saturating_sub(laid))
            / (writers * u64::from(self.plan.most_rounds() + 6));
        requests.min(share)
    }
}

fn lcm(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a, b);
    while y > 0 {
        (x, y) = (y, x % y);
    }
    a / x * b
}
