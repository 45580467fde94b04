//! What is to be run, as written in a suite file, checked and with its lists expanded.
//!
//! Owns the grammar: every key, its values and its default. Knows no disk and reads no file: text goes in,
//! a [`Suite`] or a list of errors comes out.

mod canon;
mod document;
mod embedded;
mod error;
mod expand;
mod fio;
mod gates;
mod keys;
mod legs;
mod metric;
mod names;
mod readers;
mod rules;
#[cfg(test)]
mod tests;
mod values;
mod workload;
pub(crate) mod written;

pub use document::parse;
pub use embedded::embedded;
pub use error::SuiteError;
pub(crate) use names::is_name;
pub use workload::DEFAULT_SIZE;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::units::{Bytes, Fraction};

/// One suite file: a name, the reason it exists, and its tests with every list expanded.
#[derive(Debug, Clone, PartialEq)]
pub struct Suite {
    /// The file's stem: `sequential` for `suites/sequential.toml`.
    pub name: String,
    /// The `about` line.
    pub about: Option<String>,
    /// Tests in the order written.
    pub tests: Vec<Test>,
    /// Gated metrics of the whole file (a pair counts as three); several tests share the error level by α/W.
    /// Advisory ones do not count, so it may be 0.
    pub gated_metrics: usize,
}

/// One named test.
#[derive(Debug, Clone, PartialEq)]
pub struct Test {
    /// The suite's name.
    pub suite: String,
    /// The name within the suite, with its list choices: `readers::workers-5`.
    pub name: String,
    /// What it does on the disk.
    pub workload: Workload,
    /// What is judged, by metric name.
    pub gates: BTreeMap<Metric, Gate>,
    /// Listed as ignored unless asked for.
    pub slow: bool,
    /// Reported but never failing.
    pub advisory: bool,
    /// Time for one session; `None` means 60 s or what 22 rounds need, whichever is longer.
    pub budget: Option<Duration>,
    /// Hash of the test's effective text: a candidate is accepted only if it is still the same.
    pub text: String,
    /// Copied from [`Suite::gated_metrics`], since one process runs one test.
    pub gated_metrics: usize,
}

impl Test {
    /// The name cargo and nextest see: `suite::name`.
    #[must_use]
    pub fn full_name(&self) -> String {
        format!("{}::{}", self.suite, self.name)
    }
}

/// What a test does on the disk: the keys of `interface` after defaults, before any disk is known.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    /// The legs, and how they stand to each other.
    pub legs: Legs,
    /// Extent per worker; `None` when the file left it to the default, which alone may be raised.
    pub size: Option<Bytes>,
    /// How long one leg of a round lasts; `None`: chosen from the measured rate.
    pub leg: Option<LegLength>,
    /// Legs end by time.
    pub time: Option<Duration>,
    /// Request size.
    pub block: Block,
    /// The way I/O is issued.
    pub engine: EngineKind,
    /// Through the page cache or around it.
    pub cache: Cache,
    /// Requests in flight per worker.
    pub depth: u32,
    /// Workers, each on its own region.
    pub workers: u32,
    /// What is written.
    pub data: Data,
    /// Where writes go.
    pub write: WriteMode,
    /// When writes are made durable.
    pub flush: Flush,
    /// An existing file to read.
    pub file: Option<PathBuf>,
    /// Whether the scratch file has a name.
    pub scratch: Option<Scratch>,
    /// Whole files instead of one extent.
    pub files: Option<Files>,
    /// The file system or the block device below it.
    pub on: On,
    /// A part of the device, as shares of its size.
    pub zone: Option<(Fraction, Fraction)>,
    /// How many disks of the pool at once.
    pub disks: u32,
    /// Whether proof that the bytes crossed the block layer is required.
    pub proof: Proof,
}

/// The legs of a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Legs {
    /// `rw = …`: one leg a round.
    Single(Rw),
    /// `pair = […]`: two legs a round, one after the other; whatever the order written, the reading one comes first.
    Pair(Rw, Rw),
    /// `[[test.leg]]`: legs at the same time.
    Together(Vec<NamedLeg>),
}

/// A leg of `[[test.leg]]`; keys that are `None` are the test's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedLeg {
    /// Prefix of its metrics.
    pub name: String,
    /// What it does.
    pub rw: Rw,
    /// Workers of this leg.
    pub workers: Option<u32>,
    /// Requests in flight per worker.
    pub depth: Option<u32>,
    /// Request size.
    pub block: Option<Block>,
    /// Extent per worker.
    pub size: Option<Bytes>,
}

/// Access pattern and direction of a leg.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rw {
    /// Sequential read.
    Read,
    /// Sequential write.
    Write,
    /// Random read.
    RandRead,
    /// Random write.
    RandWrite,
    /// Random, read and write mixed.
    RandRw,
}

/// Which way the bytes of a leg go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the disk.
    Read,
    /// To the disk.
    Write,
}

/// How long a leg lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LegLength {
    /// About this long; turned into bytes once the rate is known.
    Time(Duration),
    /// Exactly these bytes.
    Bytes(Bytes),
}

/// Request size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Block {
    /// Bytes per request.
    Bytes(Bytes),
    /// The smallest transfer the device takes.
    Min,
}

/// The way I/O is issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EngineKind {
    /// pread and pwrite, one request at a time.
    Psync,
    /// Loads and stores through a mapping.
    Mmap,
    /// io_uring with registered buffers and files.
    IoUring,
    /// No I/O: what the harness itself costs.
    Null,
}

/// Through the page cache or around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cache {
    /// `O_DIRECT`.
    Direct,
    /// Through the page cache, evicted before each leg.
    Buffered,
}

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Data {
    /// Incompressible.
    Random,
    /// Zeros.
    Zero,
    /// This share of every block is zeros.
    Compressible(Fraction),
}

/// Where writes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteMode {
    /// Over laid-out blocks.
    Overwrite,
    /// Behind the end of the file.
    Append,
    /// A new file each leg.
    NewFile,
}

/// When writes are made durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flush {
    /// fdatasync at the end of a leg; its drain belongs to the write.
    End,
    /// fdatasync after each request.
    Each,
    /// Never inside the rate.
    None,
}

/// Whether the scratch file has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scratch {
    /// `O_TMPFILE`: a kill leaves nothing.
    Unlinked,
    /// A named file in a marked folder, kept for the next run.
    Kept,
}

/// Whole files, one after another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    /// How many.
    pub count: u32,
    /// Mean size.
    pub size: Bytes,
    /// Distribution of sizes.
    pub spread: Spread,
    /// Order of reading.
    pub order: FileOrder,
}

/// Distribution of file sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    /// All alike.
    Fixed,
    /// Uniform.
    Uniform,
    /// Log-normal.
    Lognormal,
}

/// Order of reading whole files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileOrder {
    /// Shuffled.
    Random,
    /// As created.
    Created,
}

/// What is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    /// A file on the file system.
    File,
    /// The block device below it, read-only.
    Device,
}

/// Whether proof that the bytes crossed the block layer is required.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// Yes; without a witness the test is `unproven`.
    Required,
    /// No.
    None,
}

/// The gate keys of one metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gate {
    /// How much worse is tolerated.
    pub tolerance: Tolerance,
    /// Floor: the whole interval below it is a violation.
    pub min: Option<f64>,
    /// Ceiling: the whole interval above it is a violation.
    pub max: Option<f64>,
    /// Reported but never failing.
    pub advisory: bool,
}

/// How much worse is tolerated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Tolerance {
    /// The one calibrated from the baseline's sessions, stored with them.
    Auto,
    /// As written; never changed.
    Given(Fraction),
    /// Only `min` and `max` are judged.
    Unset,
}

/// A figure a test yields, with the leg's name where legs are named: `ratio`, `read_p99`, `seq.read`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Metric {
    /// Set for `[[test.leg]]`.
    pub leg: Option<String>,
    /// What it is.
    pub kind: MetricKind,
}

/// What a metric is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MetricKind {
    /// Read rate over write rate, of the same rounds.
    Ratio,
    /// Bytes per second; for writes until they left the host's reach.
    Rate(Direction),
    /// Requests per second.
    Iops(Direction),
    /// A latency percentile, in thousandths: 500, 990, 999.
    Latency(Direction, u16),
    /// What an fdatasync costs beside its drain.
    Flush,
    /// Write rate without the drain.
    WriteAccepted,
    /// Files per second.
    Files,
    /// CPU time per byte.
    Cpu,
}

impl Rw {
    /// The word in a suite file.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::RandRead => "randread",
            Self::RandWrite => "randwrite",
            Self::RandRw => "randrw",
        }
    }

    /// Random offsets.
    #[must_use]
    pub fn is_random(self) -> bool {
        matches!(self, Self::RandRead | Self::RandWrite | Self::RandRw)
    }

    /// The direction, unless mixed.
    #[must_use]
    pub fn direction(self) -> Option<Direction> {
        match self {
            Self::Read | Self::RandRead => Some(Direction::Read),
            Self::Write | Self::RandWrite => Some(Direction::Write),
            Self::RandRw => None,
        }
    }
}
