//! The real disk: files, workers and one engine each, behind the trait the control loop sees.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use super::buffer::Pool;
use super::null::Null;
use super::psync::{Psync, retry, whole};
use super::runs::{Space, mix};
use super::scratch::{Anchor, refuses_direct};
use super::tally::{Clock, Shared};
use super::uring::{self, Uring};
use super::worker::{self, Engine, Work, Worker};
use super::{Disk, Interrupt, LegSpec, LegTally};
use crate::plan::{DataPlan, Plan, Source};
use crate::sample::MeasureError;
use crate::suite::{Cache, EngineKind};
use crate::units::{Bytes, MIB, Nanos};

/// Request size of the layout.
const LAYOUT_BLOCK: u64 = MIB;
/// Smallest overwrite that makes a flush do something.
const TOUCH: u64 = 4096;
/// Longest sleep between two looks for a signal.
const NAP: Nanos = Nanos(50_000_000);
/// Root of the kernel's process files.
const PROC: &str = "/proc";

/// Whether an engine can run here.
///
/// # Errors
/// A sentence that says what forbids it.
pub fn probe(kind: EngineKind) -> Result<(), String> {
    match kind {
        EngineKind::Null | EngineKind::Psync => Ok(()),
        EngineKind::IoUring => uring::probe(Path::new(PROC)),
        EngineKind::Mmap => Err(format!("mmap is {}", crate::plan::NOT_YET)),
    }
}

/// One line for each way of doing I/O.
fn open_engine(plan: &Plan) -> Result<Box<dyn Engine>, MeasureError> {
    probe(plan.engine).map_err(MeasureError::Unavailable)?;
    Ok(match plan.engine {
        EngineKind::Null => Box::new(Null),
        EngineKind::Psync => Box::new(Psync),
        EngineKind::IoUring => Box::new(Uring::new(plan.depth)?),
        EngineKind::Mmap => return Err(MeasureError::Unavailable("mmap has no engine".to_owned())),
    })
}

/// Opens the disk of a plan: its files, and a pool and an engine for each worker. Nothing is written yet.
///
/// # Errors
/// [`MeasureError::Unavailable`] with the reason when the engine cannot run; [`MeasureError::Setup`] when a file cannot
/// be made or opened.
pub fn open(plan: &Plan, seed: u64) -> Result<Box<dyn Disk>, MeasureError> {
    Ok(Box::new(Real::open(plan, seed)?))
}

struct Real {
    block: u64,
    alignment: u64,
    direct: bool,
    engine: EngineKind,
    anchors: Vec<Anchor>,
    /// The files as the legs use them.
    files: Vec<File>,
    workers: Vec<Worker>,
    /// Data of the layout and of the overwrites before a flush is timed.
    layer: Pool,
    clock: Clock,
}

impl Real {
    fn open(plan: &Plan, seed: u64) -> Result<Self, MeasureError> {
        let anchors = match &plan.source {
            Source::Nowhere => Vec::new(),
            Source::Existing(path) => vec![Anchor::existing(path)?],
            Source::Scratch(dir) => {
                let count = if plan.two_files { 2 } else { 1 };
                (0..count)
                    .map(|_| Anchor::scratch(dir))
                    .collect::<Result<_, _>>()?
            }
        };
        let align = plan.alignment.next_power_of_two();
        let cpus = worker::cpus(plan.numa_node);
        let worker = |i: u32| {
            Ok(Worker {
                engine: open_engine(plan)?,
                pool: Pool::new(
                    plan.block.0,
                    plan.depth,
                    align,
                    plan.data,
                    mix(seed ^ u64::from(i)),
                ),
                cpu: cpus.get(i as usize % cpus.len().max(1)).copied(),
            })
        };
        let mut real = Self {
            block: plan.block.0,
            alignment: plan.alignment,
            direct: plan.cache == Cache::Direct,
            engine: plan.engine,
            anchors,
            files: Vec::new(),
            workers: (0..plan.workers)
                .map(worker)
                .collect::<Result<_, MeasureError>>()?,
            layer: layer(plan, align, seed),
            clock: Clock::new(),
        };
        real.reopen()?;
        Ok(real)
    }

    fn reopen(&mut self) -> Result<(), MeasureError> {
        let files = self
            .anchors
            .iter()
            .map(|a| a.reopen(self.direct))
            .collect::<Result<_, _>>()?;
        self.files = files;
        Ok(())
    }

    /// Writes `part` of `file` from the layer's pool.
    fn fill(
        &mut self,
        file: &File,
        part: Range<u64>,
        interrupt: &Interrupt,
    ) -> Result<(), MeasureError> {
        for (turn, offset) in part.step_by(LAYOUT_BLOCK as usize).enumerate() {
            interrupt.check()?;
            let place = self.layer.place(0, turn);
            let buffer = self.layer.stamped(place, offset, 0);
            let wrote = retry(|| file.write_at(buffer, offset));
            whole("write", offset, LAYOUT_BLOCK as usize, wrote)?;
        }
        Ok(())
    }
}

/// The pool of the layout: of one block where only overwrites before a flush need it.
fn layer(plan: &Plan, align: u64, seed: u64) -> Pool {
    let data = if plan.source == Source::Nowhere {
        DataPlan::Zero
    } else {
        plan.data
    };
    Pool::new(LAYOUT_BLOCK, 1, align, data, !seed)
}

impl Disk for Real {
    fn now(&self) -> Nanos {
        Nanos(self.clock.now())
    }

    fn wait(&mut self, time: Nanos, interrupt: &Interrupt) {
        let end = self.clock.now() + time.0;
        while interrupt.raised().is_none() {
            let left = end.saturating_sub(self.clock.now());
            if left == 0 {
                break;
            }
            std::thread::sleep(Duration::from_nanos(left.min(NAP.0)));
        }
    }

    fn files(&self) -> usize {
        self.anchors.len()
    }

    fn file(&self, index: usize) -> Option<&File> {
        self.anchors.get(index).map(Anchor::file)
    }

    /// Around the page cache where the file system can, so that laying out does not fill it. Whole MiB are written, so
    /// the file may end up to 1 MiB behind the part.
    fn lay_out(
        &mut self,
        file: usize,
        part: Range<u64>,
        interrupt: &Interrupt,
    ) -> Result<(), MeasureError> {
        let part =
            part.start / LAYOUT_BLOCK * LAYOUT_BLOCK..part.end.next_multiple_of(LAYOUT_BLOCK);
        let anchor = &self.anchors[file];
        if part.start == 0 {
            anchor.allocate(part.end)?;
        }
        let direct = anchor.reopen(true);
        let buffered = anchor.reopen(false)?;
        match direct.and_then(|direct| self.fill(&direct, part.clone(), interrupt)) {
            Err(e) if !self.direct && refuses_direct(&e) => {
                self.fill(&buffered, part, interrupt)?
            }
            other => other?,
        }
        self.anchors[file].sync()?;
        self.anchors[file].evict()
    }

    fn touch(&mut self, space: &Space) -> Result<(), MeasureError> {
        let length = TOUCH.next_multiple_of(self.alignment).min(LAYOUT_BLOCK);
        let offset = space.offset(0, 0);
        let place = self.layer.place(0, 0);
        let buffer = &self.layer.stamped(place, offset, 0)[..length as usize];
        let file = &self.files[space.file];
        whole(
            "write",
            offset,
            buffer.len(),
            retry(|| file.write_at(buffer, offset)),
        )
    }

    fn flush(&mut self) -> Result<Nanos, MeasureError> {
        let start = self.clock.now();
        for anchor in self.anchors.iter() {
            anchor.sync()?;
        }
        Ok(Nanos(self.clock.now() - start))
    }

    fn refresh(&mut self) -> Result<(), MeasureError> {
        for anchor in &self.anchors {
            anchor.sync()?;
            anchor.evict()?;
        }
        self.reopen()
    }

    /// At most half of what is free: nothing is pushed out for it.
    fn warm_memory(&mut self, bytes: Bytes) {
        let free = nix::sys::sysinfo::sysinfo().map_or(0, |system| system.ram_unused());
        let bytes = bytes.0.min(free / 2);
        let mut memory: Vec<u8> = Vec::new();
        if memory.try_reserve_exact(bytes as usize).is_ok() {
            memory.resize(bytes as usize, 1);
            std::hint::black_box(&memory);
        }
    }

    fn run(&mut self, leg: &LegSpec, interrupt: &Interrupt) -> Result<LegTally, MeasureError> {
        let shared = Shared::new(interrupt, leg.limit);
        let shuffle = leg.rw.is_random().then_some(leg.shuffle);
        let work = |worker: u64| Work {
            file: self.files.get(leg.space.file),
            direction: leg.direction,
            block: self.block as usize,
            offsets: leg
                .space
                .offsets(worker, leg.from, leg.bytes, self.block, shuffle),
            generation: leg.generation,
            clock: self.clock,
            shared: &shared,
        };
        let work = (0..self.workers.len() as u64).map(work).collect();
        worker::run(&mut self.workers, work, &shared)
    }

    fn notes(&self) -> Vec<String> {
        let cpus: Vec<String> = self
            .workers
            .iter()
            .filter_map(|w| w.cpu)
            .map(|cpu| cpu.to_string())
            .collect();
        let mut notes: Vec<String> = self
            .workers
            .iter()
            .filter_map(|w| w.engine.note())
            .take(1)
            .collect();
        if !cpus.is_empty() {
            notes.push(format!("workers pinned to CPUs {}", cpus.join(", ")));
        }
        if self.engine == EngineKind::Null {
            notes.push("null engine: no disk was involved".to_owned());
        }
        notes
    }
}

#[cfg(test)]
#[path = "contract_tests.rs"]
mod tests;
