//! The clock of a leg, what its workers share while it runs, and the tally of what they did.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use hdrhistogram::Histogram;

use super::{Interrupt, LegTally, latencies};
use crate::sample::MeasureError;
use crate::units::{Bytes, Nanos};

/// Length of an interval of the series.
const INTERVAL: u64 = 100_000_000;
/// Intervals made room for before the clock.
const INTERVALS: usize = 1024;

/// What the workers of a leg share.
pub(super) struct Shared<'a> {
    interrupt: &'a Interrupt,
    stop: AtomicBool,
    limit: u64,
    /// When the leg ends whatever is left; set by the first to start.
    until: AtomicU64,
    /// When the first of them ended.
    first_end: AtomicU64,
}

impl<'a> Shared<'a> {
    pub(super) fn new(interrupt: &'a Interrupt, limit: Nanos) -> Self {
        Self {
            interrupt,
            stop: AtomicBool::new(false),
            limit: limit.0,
            until: AtomicU64::new(u64::MAX),
            first_end: AtomicU64::new(u64::MAX),
        }
    }

    /// Nobody issues another request.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether to issue no more requests at the time `now`.
    pub(super) fn over(&self, now: u64) -> bool {
        now >= self.until.load(Ordering::Relaxed)
            || self.stop.load(Ordering::Relaxed)
            || self.interrupt.raised().is_some()
    }

    /// Whether a signal came.
    pub(super) fn check(&self) -> Result<(), MeasureError> {
        self.interrupt.check()
    }
}

/// The monotonic clock, in nanoseconds since it was made.
#[derive(Clone, Copy)]
pub(super) struct Clock(Instant);

impl Clock {
    pub(super) fn new() -> Self {
        Self(Instant::now())
    }

    pub(super) fn now(self) -> u64 {
        // 584 years fit.
        self.0.elapsed().as_nanos() as u64
    }
}

/// What one worker did.
pub(super) struct Tally<'a> {
    shared: &'a Shared<'a>,
    start: u64,
    end: u64,
    bytes: u64,
    moved: u64,
    requests: u64,
    series: Vec<u64>,
    latency: Histogram<u64>,
}

impl<'a> Tally<'a> {
    pub(super) fn new(shared: &'a Shared<'a>) -> Self {
        Self {
            shared,
            start: 0,
            end: 0,
            bytes: 0,
            moved: 0,
            requests: 0,
            series: vec![0; INTERVALS],
            latency: latencies(),
        }
    }

    /// The first request is about to be issued.
    pub(super) fn begin(&mut self, now: u64) {
        (self.start, self.end) = (now, now);
        self.shared
            .until
            .fetch_min(now.saturating_add(self.shared.limit), Ordering::Relaxed);
    }

    /// A request issued at one time returned `bytes` at another. What ends after the first worker did is not part of
    /// the rate: fewer workers are then at it.
    pub(super) fn done(&mut self, issued: u64, now: u64, bytes: u64) {
        self.moved += bytes;
        self.end = now;
        if now > self.shared.first_end.load(Ordering::Relaxed) {
            return;
        }
        self.bytes += bytes;
        self.requests += 1;
        self.latency
            .saturating_record(now.saturating_sub(issued).max(1));
        let interval = (now.saturating_sub(self.start) / INTERVAL) as usize;
        if interval >= self.series.len() {
            self.series.resize(interval + INTERVALS, 0);
        }
        self.series[interval] += bytes;
    }

    /// This worker issues no more.
    pub(super) fn finish(&mut self) {
        self.shared.first_end.fetch_min(self.end, Ordering::Relaxed);
    }
}

/// Adds up what the workers did until the first of them ended.
pub(super) fn sum(tallies: &[Tally<'_>], shared: &Shared<'_>) -> LegTally {
    let start = tallies.iter().map(|t| t.start).min().unwrap_or(0);
    let last = tallies.iter().map(|t| t.end).max().unwrap_or(0);
    let end = shared.first_end.load(Ordering::Relaxed).min(last);
    let time = end.saturating_sub(start);
    let mut series = vec![0; (time / INTERVAL) as usize];
    let mut latency = latencies();
    for tally in tallies {
        series
            .iter_mut()
            .zip(&tally.series)
            .for_each(|(sum, bytes)| *sum += bytes);
        // Equal constant bounds: adding cannot fail.
        let _ = latency.add(&tally.latency);
    }
    LegTally {
        bytes: Bytes(tallies.iter().map(|t| t.bytes).sum()),
        time: Nanos(time),
        moved: Bytes(tallies.iter().map(|t| t.moved).sum()),
        tail: Nanos(last - end),
        requests: tallies.iter().map(|t| t.requests).sum(),
        cpu_user: Nanos(0),
        cpu_system: Nanos(0),
        series,
        latency,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_after_the_first_worker_is_moved_but_not_in_the_rate() {
        let interrupt = Interrupt::new();
        let shared = Shared::new(&interrupt, Nanos(1_000_000_000));
        let mut quick = Tally::new(&shared);
        quick.begin(100);
        quick.done(100, 250_000_100, 4096);
        quick.finish();
        let mut slow = Tally::new(&shared);
        slow.begin(200);
        slow.done(200, 150_000_200, 4096);
        slow.done(150_000_200, 400_000_000, 4096);
        slow.finish();
        let leg = sum(&[quick, slow], &shared);
        assert_eq!(
            (leg.bytes, leg.moved, leg.requests),
            (Bytes(8192), Bytes(12288), 2)
        );
        assert_eq!(
            (leg.time, leg.tail),
            (Nanos(250_000_000), Nanos(149_999_900))
        );
        assert_eq!(leg.series, [0, 4096], "incomplete intervals are left out");
        assert_eq!(leg.latency.len(), 2);
    }
}
