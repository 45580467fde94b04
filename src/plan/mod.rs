//! From a test and the facts to exactly what will be done: legs, regions, order, seed, bytes, seconds; or a reason
//! why not. Pure: the same inputs give the same plan.
//!
//! Owns every number a session is run with, except the leg bytes a first session finds by measuring. Where the legs
//! lie within the extent is the engine's (`engine::runs`).

mod amount;
mod key;
mod make;
mod place;
#[cfg(test)]
mod tests;

pub(crate) use key::does_no_io;
pub(crate) use key::exact;
pub use make::plan;

use serde::{Deserialize, Serialize};

use crate::suite::{Cache, Direction, EngineKind, Rw};
use crate::units::{Bytes, Nanos};

/// One session's work on one disk, decided before the first byte.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// `suite::test`.
    pub test: String,
    /// One leg, or two that take turns.
    pub legs: Vec<LegPlan>,
    /// Request size.
    pub block: Bytes,
    /// Requests in flight per worker.
    pub depth: u32,
    /// Workers, each on its own region of `extent` bytes.
    pub workers: u32,
    /// Extent per worker.
    pub extent: Bytes,
    /// Whether reads and writes use two files (copy-on-write) instead of alternate runs of one.
    pub two_files: bool,
    /// The way I/O is issued.
    pub engine: EngineKind,
    /// Through the page cache or around it.
    pub cache: Cache,
    /// What is written.
    pub data: DataPlan,
    /// When writes are made durable.
    pub flush: FlushPlan,
    /// Where the bytes are.
    pub source: Source,
    /// Offset and memory alignment every request keeps.
    pub alignment: u64,
    /// Rounds measured and dropped first.
    pub warm_up: u32,
    /// Rounds to keep.
    pub keep: u32,
    /// Seed of order, offsets and data of the first session; later sessions derive theirs from it.
    pub seed: u64,
    /// Bytes that must be free, reserve included.
    pub needs: Bytes,
    /// Most bytes one session will write.
    pub writes: Bytes,
    /// Expected time of one session; `None` where the bytes of a leg are given and nothing tells their rate.
    pub expected: Option<Nanos>,
    /// Time, counted from the first warm-up round, after which a session stops asking for further rounds.
    pub budget: Nanos,
    /// The budget was written in the suite: it is never stretched because legs turned out longer than aimed at.
    pub budget_given: bool,
    /// How long the disk must stand still between two legs.
    pub still: Nanos,
    /// Read-ahead of the device: how much more than asked a buffered read may fetch.
    pub read_ahead: Bytes,
    /// Unit in which the device likes to be written (a whole stripe of a RAID); 0 where it tells none. Leg bytes that
    /// are found by measuring are multiples of it.
    pub stripe: Bytes,
    /// Other traffic after which a byte may be read again: what caches below may hold is pushed out by then.
    pub reread_after: Bytes,
    /// NUMA node of the device, on whose CPUs workers run; `None` where there is but one or the kernel does not tell.
    pub numa_node: Option<u32>,
    /// Whether a witness is required to vouch for the bytes.
    pub proof_required: bool,
    /// Workload keys that a baseline must share, in words: `block` → `128 KiB`. Leg bytes are added once known.
    pub key: WorkloadKey,
}

impl Plan {
    /// Bytes of the longest leg, over all workers, that touches none of its bytes twice.
    #[must_use]
    pub fn once(&self) -> u64 {
        let share = if self.legs.len() > 1 && !self.two_files {
            2
        } else {
            1
        };
        (self.extent.0 / share).saturating_mul(u64::from(self.workers.max(1)))
    }

    /// Rounds a session runs at most: warm-up, kept, and as many void ones as it bears (a quarter of those after
    /// the warm-up).
    #[must_use]
    pub fn most_rounds(&self) -> u32 {
        self.warm_up + self.keep + self.keep / 3
    }
}

/// Resolved workload keys by name.
pub type WorkloadKey = std::collections::BTreeMap<String, String>;

/// One leg of a round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LegPlan {
    /// Pattern and direction.
    pub rw: Rw,
    /// Its direction.
    pub direction: Direction,
    /// Exact bytes over all workers when the suite or the baseline fixes them; else found by the sizing leg.
    pub bytes: Option<Bytes>,
    /// The time a leg aims at when `bytes` is open.
    pub aim: Nanos,
    /// The time a leg of these bytes took when they were fixed; `None` where nothing is known of it.
    pub took: Option<Nanos>,
}

/// The bytes of one leg as an earlier session fixed them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FixedLeg {
    /// Over all workers.
    pub bytes: Bytes,
    /// Median time such a leg took, drain included; `None` where the session cannot tell.
    pub took: Option<Nanos>,
}

/// What is written, resolved to what a buffer filler needs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DataPlan {
    /// Incompressible.
    Random,
    /// Zeros.
    Zero,
    /// This many bytes at the end of each 4 KiB are zeros.
    ZeroTail(u32),
}

/// When writes are made durable, of those this version measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlushPlan {
    /// fdatasync at the end of a leg.
    End,
    /// Outside the rate.
    None,
}

/// Where the bytes are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A scratch file below this directory, unlinked at birth where the file system can.
    Scratch(std::path::PathBuf),
    /// An existing file or block device, opened read-only and never changed.
    Existing(std::path::PathBuf),
    /// Nowhere: the null engine.
    Nowhere,
}

/// What `plan` needs beside test and facts.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// The quick look without configuration: small extent, eight rounds.
    pub trial: bool,
    /// Leg bytes fixed by an earlier session, in the order of the legs.
    pub fixed: Option<Vec<FixedLeg>>,
    /// Seed of the first session.
    pub seed: u64,
    /// Most bytes one session may write.
    pub max_write: Bytes,
    /// Size of the file or device a read-only test names.
    pub existing: Option<Bytes>,
}

/// What becomes of a test.
#[derive(Debug, Clone, PartialEq)]
pub enum Planned {
    /// It can be measured.
    Run(Box<Plan>),
    /// It cannot run here; shown as ignored.
    Skip(String),
    /// It must not run: the user has to change something; a sentence with what was found and the cure.
    Refuse(String),
}

/// The reason a test of a key that this version does not measure is listed and skipped.
pub const NOT_YET: &str = "not yet measured by this version";

/// Rounds of the warm-up at most: short legs fit many into its two seconds.
pub(crate) const MOST_WARM_UP: u32 = 20;

/// Requests of a leg at most: their offsets are made before the clock runs and held in memory.
pub(crate) const MOST_REQUESTS: u64 = 1 << 24;
