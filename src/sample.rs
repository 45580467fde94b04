//! What was measured, raw: one value per round and leg, never changed after. Later steps derive; this one keeps.
//!
//! Also the two small contracts that keep edges apart: [`Witness`] is what only the kernel can tell the engine,
//! and [`MeasureError`] is how a measurement ends early.

use std::fs::File;
use std::io;

use serde::{Deserialize, Serialize};

use crate::facts::Settings;
use crate::plan::WorkloadKey;
use crate::suite::Direction;
use crate::units::{Bytes, Nanos};

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
    /// `max(0, flush − flush_cost)`: the part that moved data.
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

impl LegSample {
    /// Time until the bytes had left the host's reach.
    #[must_use]
    pub fn settled_time(&self) -> Nanos {
        Nanos(self.time.0 + self.drain.0)
    }
}

/// Latencies of one direction as a sparse HDR histogram (three significant digits).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    /// Which way.
    pub direction: Direction,
    /// `[highest equivalent value in ns, count]`, ascending, zero counts left out.
    pub counts: Vec<[u64; 2]>,
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
