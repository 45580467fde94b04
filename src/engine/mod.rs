//! The ways to do I/O, laying out files, and the session that runs a plan: the only code that writes to a target.
//!
//! [`session()`] is the control loop. It sees the disk through the trait [`Disk`], which also brings the clock, so a
//! virtual disk with a virtual clock runs the same loop. [`open`] makes the real disk: `scratch` holds the files,
//! `buffer` the data, `worker` the threads, and each way of issuing requests is one file beside them
//! (`null`, `psync`, `uring`). To add one, copy `null.rs` and add its line to `open_engine`.
//!
//! What counters, page cache and extents say comes from outside, through [`Witness`](crate::sample::Witness); what
//! follows from it is decided in `check`.

mod check;
mod leg;
mod prepare;
pub(crate) mod runs;
mod session;
#[cfg(test)]
pub(crate) mod testing;
mod warm;

// Everything that only Linux can do; elsewhere `elsewhere.rs` says so in its place.
#[cfg(target_os = "linux")]
mod buffer;
#[cfg(target_os = "linux")]
mod disk;
#[cfg(target_os = "linux")]
mod null;
#[cfg(target_os = "linux")]
mod psync;
#[cfg(target_os = "linux")]
mod scratch;
#[cfg(target_os = "linux")]
mod tally;
#[cfg(target_os = "linux")]
mod uring;
#[cfg(target_os = "linux")]
mod worker;

#[cfg(not(target_os = "linux"))]
mod elsewhere;

#[cfg(target_os = "linux")]
pub use disk::{open, probe};
#[cfg(not(target_os = "linux"))]
pub use elsewhere::{open, probe};
pub use runs::Space;
pub use session::{Terms, session};

use std::fs::File;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hdrhistogram::Histogram;

use crate::sample::MeasureError;
use crate::suite::{Direction, Rw};
use crate::units::{Bytes, Nanos};

/// What the control loop needs of a disk: its files, its clock, and to run one leg.
pub trait Disk {
    /// Time since an arbitrary start, monotonic.
    fn now(&self) -> Nanos;

    /// Lets time pass; ends early when interrupted.
    fn wait(&mut self, time: Nanos, interrupt: &Interrupt);

    /// Number of files; 0 when there is nothing below (the null engine), and then nothing is proven or voided.
    fn files(&self) -> usize;

    /// One of them, to ask the witness about.
    fn file(&self, index: usize) -> Option<&File>;

    /// Writes data into a part of a file, in order, and makes it durable. Never called for an existing file.
    ///
    /// # Errors
    /// As the system calls; [`MeasureError::Interrupted`] between two requests.
    fn lay_out(
        &mut self,
        file: usize,
        part: Range<u64>,
        interrupt: &Interrupt,
    ) -> Result<(), MeasureError>;

    /// Overwrites a little at the start of a space, so that a flush has something to do.
    ///
    /// # Errors
    /// As the system calls.
    fn touch(&mut self, space: &Space) -> Result<(), MeasureError>;

    /// fdatasync of all files; the time it took.
    ///
    /// # Errors
    /// As the system call.
    fn flush(&mut self) -> Result<Nanos, MeasureError>;

    /// Drops the files' clean pages from the page cache and opens them anew: the state of read-ahead lives in the
    /// open file.
    ///
    /// # Errors
    /// As the system calls.
    fn refresh(&mut self) -> Result<(), MeasureError>;

    /// Runs one leg with all workers and returns what it did.
    ///
    /// # Errors
    /// The first failed or short request of any worker; [`MeasureError::Interrupted`].
    fn run(&mut self, leg: &LegSpec, interrupt: &Interrupt) -> Result<LegTally, MeasureError>;

    /// Has the host back this much memory, so that the page cache of the first legs is not made of pages that nobody
    /// ever touched: a guest gets those from its host one by one, at a fifth of a disk's speed.
    fn warm_memory(&mut self, _bytes: Bytes) {}

    /// What the record should know: pinned CPUs, buffers that could not be registered, …
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// One leg to run.
#[derive(Debug, Clone, PartialEq)]
pub struct LegSpec {
    /// Pattern.
    pub rw: Rw,
    /// Direction.
    pub direction: Direction,
    /// Where it lies.
    pub space: Space,
    /// Byte of each worker's walk it begins at.
    pub from: u64,
    /// Bytes of each worker, a multiple of the block.
    pub bytes: u64,
    /// Seed of a random walk.
    pub shuffle: u64,
    /// Stamped into what is written: grows with every leg.
    pub generation: u64,
    /// The leg ends after this time with the bytes it did.
    pub limit: Nanos,
}

/// What a leg did.
#[derive(Debug, Clone)]
pub struct LegTally {
    /// Bytes of all workers until the first of them ended.
    pub bytes: Bytes,
    /// Time until then.
    pub time: Nanos,
    /// Bytes of all workers until the last ended.
    pub moved: Bytes,
    /// Time from the first worker's end to the last one's.
    pub tail: Nanos,
    /// Requests among `bytes`.
    pub requests: u64,
    /// CPU of the process in user mode.
    pub cpu_user: Nanos,
    /// CPU of the process in the kernel.
    pub cpu_system: Nanos,
    /// Bytes per 100 ms, complete intervals only.
    pub series: Vec<u64>,
    /// Latency of each request among `bytes`, in nanoseconds.
    pub latency: Histogram<u64>,
}

/// The signal that asked to stop, shared with whoever catches it.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<AtomicUsize>);

impl Interrupt {
    /// No signal yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Where a handler stores the signal's number (as `signal_hook::flag::register_usize` does).
    #[must_use]
    pub fn cell(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.0)
    }

    /// The signal, once there was one.
    #[must_use]
    pub fn raised(&self) -> Option<i32> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            signal => Some(i32::try_from(signal).unwrap_or(i32::MAX)),
        }
    }

    /// Ends a step early.
    ///
    /// # Errors
    /// [`MeasureError::Interrupted`] once there was a signal.
    pub fn check(&self) -> Result<(), MeasureError> {
        self.raised()
            .map_or(Ok(()), |signal| Err(MeasureError::Interrupted(signal)))
    }
}

/// An empty histogram for request times: one nanosecond to ten minutes, two significant digits.
///
/// A value is off by less than 1 %, a fifth of the smallest tolerance; a third digit would make a committed session
/// ten times as long.
#[must_use]
pub fn latencies() -> Histogram<u64> {
    // The bounds are constants the constructor accepts; a test makes one.
    Histogram::new_with_bounds(1, 600_000_000_000, 2)
        .unwrap_or_else(|_| unreachable!("constant bounds"))
}
