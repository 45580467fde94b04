//! What was measured, raw: one value per round and leg, never changed after. Later steps derive; this one keeps.
//!
//! Also the two small contracts that keep edges apart: [`Witness`] is what only the kernel can tell the engine,
//! and [`MeasureError`] is how a measurement ends early.

use std::fs::File;
use std::io;

use serde::{Deserialize, Serialize};

use crate::facts::Settings;
use crate::plan::{FixedLeg, LegPlan, WorkloadKey};
use crate::suite::Direction;
use crate::units::{Bytes, Nanos};

#[cfg(test)]
pub(crate) mod fixture;
/// Begins the note of a session whose bytes are read again before whatever caches lie below have forgotten them.
pub(crate) const REREADS: &str = "rereads after";
/// The note of a session whose writes still drained for more than a tenth of their time after they left the host.
pub(crate) const WRITE_CACHE: &str = "write cache below";
/// Begins the note of a session whose file lies in small extents.
pub(crate) const FRAGMENTED: &str = "fragmented";

/// One session: a new scratch file, a new order, at least `gap` after the one before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// Unique: start time and seed.
    pub id: String,
    /// Start, seconds since 1970.
    pub started: u64,
    /// Wall time it took.
    pub seconds: f64,
    /// Boot it happened in.
    pub boot_id: String,
    /// Process that measured it.
    pub pid: u32,
    /// Seed of order, offsets and data.
    pub seed: u64,
    /// Tool version.
    pub version: String,
    /// Source revision of the project measured from, where git tells.
    pub revision: Option<String>,
    /// Built with debug assertions: a suspect.
    pub debug_assertions: bool,
    /// The workload as it ran, leg bytes included.
    pub workload: WorkloadKey,
    /// Bytes per leg, in the order of the plan's legs.
    pub leg_bytes: Vec<Bytes>,
    /// Settings when it started.
    pub settings: Settings,
    /// What an fdatasync costs after one 4 KiB overwrite: median of five; `None` without writes.
    pub flush_cost: Option<Nanos>,
    /// Traffic between two readings of one byte.
    pub reuse_distance: Option<Bytes>,
    /// Layout of the file after settling.
    pub layout: Option<Layout>,
    /// Every round in time order: warm-up, kept and void.
    pub rounds: Vec<Round>,
    /// Latencies of the kept rounds, pooled per direction.
    pub latency: Vec<Latency>,
    /// What was noticed and does not void anything.
    pub notes: Vec<String>,
}

/// The extents of the scratch file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// Number of extents.
    pub extents: u64,
    /// Median physical offset; 0 unknown.
    pub position: Bytes,
    /// Bytes that are holes, unwritten, delayed or inline: must be 0.
    pub not_data: Bytes,
}

/// One round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// What becomes of it.
    pub fate: Fate,
    /// Its legs in the order they ran.
    pub legs: Vec<LegSample>,
    /// Share of CPU time the hypervisor took, where the kernel tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal: Option<f64>,
}

/// What becomes of a round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// Counted.
    Kept,
    /// Dropped by rule, before anything is looked at.
    WarmUp,
    /// Disturbed by something that is blind to speed; repeated.
    Void(String),
}

/// One leg of one round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LegSample {
    /// Which way.
    pub direction: Direction,
    /// Bytes returned by the system calls.
    pub bytes: Bytes,
    /// First request issued to last one returned (with several workers: until the first of them ended).
    pub time: Nanos,
    /// fdatasync after it; 0 for reads.
    #[serde(default)]
    pub flush: Nanos,
    /// `max(0, flush − flush_cost)`: the part that moved data. All of the flush when buffered (a byte is written when
    /// it is durable); 0 with `flush = "none"`.
    #[serde(default)]
    pub drain: Nanos,
    /// Requests completed.
    pub requests: u64,
    /// CPU of the process in user mode (tick-sampled).
    pub cpu_user: Nanos,
    /// CPU of the process in the kernel (tick-sampled).
    pub cpu_system: Nanos,
    /// Change of `read_bytes` or `write_bytes` of this process; `None` where the kernel does not tell.
    pub own: Option<Bytes>,
    /// Bytes the device under the path moved in this direction.
    pub device: Option<Bytes>,
    /// Bytes it moved in the other direction.
    pub device_other: Option<Bytes>,
    /// Bytes per 100 ms, complete intervals only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<u64>,
}

impl Session {
    /// The legs of this session, in the order of `legs`. Two legs of one direction cannot be told apart by their
    /// samples, so the time of neither is known.
    #[must_use]
    pub fn fixed_legs(&self, legs: &[LegPlan]) -> Vec<FixedLeg> {
        let alone = |d: Direction| legs.iter().filter(|l| l.direction == d).count() == 1;
        let median = |direction: Direction| {
            let kept = self.rounds.iter().filter(|r| r.fate == Fate::Kept);
            let of = kept
                .flat_map(|r| &r.legs)
                .filter(|l| l.direction == direction);
            let mut times: Vec<Nanos> = of.map(LegSample::settled_time).collect();
            times.sort_unstable();
            times.get(times.len() / 2).copied()
        };
        let fixed = |(leg, bytes): (&LegPlan, &Bytes)| FixedLeg {
            bytes: *bytes,
            took: alone(leg.direction)
                .then(|| median(leg.direction))
                .flatten(),
        };
        legs.iter().zip(&self.leg_bytes).map(fixed).collect()
    }

    /// The notes that belong beside the verdict, since they say what the numbers are of.
    pub(crate) fn told(&self) -> impl Iterator<Item = &String> {
        let told = [REREADS, WRITE_CACHE, FRAGMENTED];
        self.notes
            .iter()
            .filter(move |note| told.iter().any(|start| note.starts_with(start)))
    }

    /// Its file lies in small extents.
    pub(crate) fn fragmented(&self) -> bool {
        self.notes.iter().any(|note| note.starts_with(FRAGMENTED))
    }
}

impl LegSample {
    fn is_vouched(&self) -> bool {
        let accounted = |own: Bytes| own.0 as f64 >= OWN_SHARE * self.bytes.0 as f64;
        self.device.is_some_and(|d| d.0 > 0) || self.own.is_some_and(accounted)
    }

    /// Time until the bytes had left the host's reach.
    #[must_use]
    pub fn settled_time(&self) -> Nanos {
        Nanos(self.time.0 + self.drain.0)
    }
}

/// Least share of a leg's bytes that the account of the process must show: less of them came from the disk, or the
/// kernel does not count how.
pub(crate) const OWN_SHARE: f64 = 0.98;

impl Session {
    /// Nothing vouches for the bytes of some kept leg: no device's counters are known, and the account of the process
    /// shows fewer (FUSE, NFS, ZFS, memory).
    #[must_use]
    pub fn is_unproven(&self) -> bool {
        let kept = self.rounds.iter().filter(|r| r.fate == Fate::Kept);
        !kept.flat_map(|r| &r.legs).all(LegSample::is_vouched)
    }
}

/// Latencies of one direction as a sparse HDR histogram (two significant digits).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    /// Which way.
    pub direction: Direction,
    /// `[highest equivalent value in ns, count]`, ascending, zero counts left out.
    pub counts: Vec<[u64; 2]>,
}

/// Samples above a percentile below which it is not printed: fewer say more of chance than of the disk.
pub const PRINTED_ABOVE: u64 = 10;
/// Samples above a percentile below which it is not gated.
pub const GATED_ABOVE: u64 = 50;

/// A percentile and how much stands behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Percentile {
    /// The time no more than the rest exceeded.
    pub value: Nanos,
    /// Samples that lie above it in rank.
    pub above: u64,
}

impl Percentile {
    /// Enough samples above it to be judged.
    #[must_use]
    pub fn gated(&self) -> bool {
        self.above >= GATED_ABOVE
    }
}

impl Latency {
    /// Number of requests; that of a histogram edited past counting is the largest there is.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.checked_count().unwrap_or(u64::MAX)
    }

    fn checked_count(&self) -> Option<u64> {
        let mut counts = self.counts.iter();
        counts.try_fold(0, |sum: u64, [_, count]| sum.checked_add(*count))
    }

    /// The percentile in thousandths (500, 990, 999) by nearest rank, with at least [`PRINTED_ABOVE`] samples above it;
    /// `None` with fewer, or when 1000 or more is asked for.
    #[must_use]
    pub fn percentile(&self, thousandths: u16) -> Option<Percentile> {
        let total = u128::from(self.checked_count()?);
        let rank = (total * u128::from(thousandths)).div_ceil(1000).max(1);
        let above = u64::try_from(total.checked_sub(rank)?).ok()?;
        let rank = u64::try_from(rank)
            .ok()
            .filter(|_| above >= PRINTED_ABOVE)?;
        let value = self.at_rank(rank)?;
        Some(Percentile { value, above })
    }

    /// The time of the request with this rank, 1 the fastest; that of the slowest beyond the end, `None` of nothing.
    #[must_use]
    pub fn at_rank(&self, rank: u64) -> Option<Nanos> {
        let mut seen = 0_u64;
        let reached = self.counts.iter().find(|[_, count]| {
            seen = seen.saturating_add(*count);
            seen >= rank
        });
        reached
            .or(self.counts.last())
            .map(|[value, _]| Nanos(*value))
    }
}

/// Counters read outside the clock; differences of two readings are what a leg moved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// `read_bytes` of this process.
    pub own_read: Option<u64>,
    /// `write_bytes` of this process.
    pub own_written: Option<u64>,
    /// Bytes read from the device under the path.
    pub device_read: Option<u64>,
    /// Bytes written to it.
    pub device_written: Option<u64>,
    /// CPU time stolen, in ticks, and all CPU time, in ticks.
    pub steal: Option<(u64, u64)>,
}

/// What only the kernel can tell about the target, asked by the engine between legs.
pub trait Witness: Send + Sync {
    /// Counters now.
    fn counters(&self) -> Counters;
    /// Requests in flight at the top device; `None` where unknown.
    fn in_flight(&self) -> Option<u64>;
    /// Bytes of the file in the page cache; `None` where neither cachestat nor mincore can tell.
    fn resident(&self, file: &File) -> Option<Bytes>;
    /// Layout by FIEMAP; `None` where the file system cannot tell.
    fn layout(&self, file: &File) -> Option<Layout>;
}

/// How a measurement ends early.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// A system call failed.
    #[error("{op} of {len} bytes at offset {offset} failed: {source}")]
    Io {
        /// `read`, `write`, `fdatasync`, …
        op: &'static str,
        /// Byte offset in the file.
        offset: u64,
        /// Bytes asked for.
        len: u64,
        /// The error.
        source: io::Error,
    },
    /// Fewer bytes than asked for.
    #[error("{op} at offset {offset} returned {got} of {wanted} bytes")]
    Short {
        /// `read` or `write`.
        op: &'static str,
        /// Byte offset in the file.
        offset: u64,
        /// Bytes returned.
        got: u64,
        /// Bytes asked for.
        wanted: u64,
    },
    /// The numbers are not the disk's.
    #[error("{0}")]
    NotTheDisk(String),
    /// Too much else happened; blind to speed.
    #[error("{0}")]
    Disturbed(String),
    /// SIGINT or SIGTERM.
    #[error("stopped by signal {0}")]
    Interrupted(i32),
    /// The scratch could not be made or opened.
    #[error("{what}: {source}")]
    Setup {
        /// What was being done, with the path.
        what: String,
        /// The error.
        source: io::Error,
    },
    /// The engine cannot run here.
    #[error("{0}")]
    Unavailable(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latency(counts: &[[u64; 2]]) -> Latency {
        Latency {
            direction: Direction::Read,
            counts: counts.to_vec(),
        }
    }

    #[test]
    fn a_percentile_is_the_value_of_its_rank() {
        let each: Vec<[u64; 2]> = (1..=1000).map(|v| [v, 1]).collect();
        let each = latency(&each);
        let at = |p| each.percentile(p).map(|p| (p.value.0, p.above, p.gated()));
        assert_eq!(at(500), Some((500, 500, true)));
        assert_eq!(at(950), Some((950, 50, true)));
        assert_eq!(at(951), Some((951, 49, false)));
        assert_eq!(at(990), Some((990, 10, false)));
        assert_eq!(at(991), None);
        assert_eq!(at(1000), None);
        assert_eq!(at(1001), None);
    }

    #[test]
    fn ties_count_by_rank() {
        let two = latency(&[[10, 980], [5000, 20]]);
        assert_eq!(two.percentile(500).map(|p| p.value), Some(Nanos(10)));
        assert_eq!(two.percentile(990).map(|p| p.value), Some(Nanos(5000)));
    }

    #[test]
    fn too_few_samples_have_no_percentile() {
        assert_eq!(latency(&[]).percentile(500), None);
        assert_eq!(latency(&[[1, 19]]).percentile(500), None);
        assert!(latency(&[[1, 20]]).percentile(500).is_some());
        assert!(latency(&[[1, 20]]).percentile(0).is_some());
    }

    #[test]
    fn ranks_beyond_the_end_are_the_slowest() {
        let three = latency(&[[10, 2], [20, 1]]);
        let at = |rank| three.at_rank(rank).map(|n| n.0);
        assert_eq!(
            [at(1), at(2), at(3), at(9)].map(Option::unwrap),
            [10, 10, 20, 20]
        );
        assert_eq!(latency(&[]).at_rank(1), None);
    }
}
