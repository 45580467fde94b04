//! Workers: threads that start together, with one engine and one pool each.

use std::fs::File;
use std::sync::{Condvar, Mutex, PoisonError};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

use super::LegTally;
use super::buffer::Pool;
use super::tally::{Clock, Shared, Tally, sum};
use crate::sample::MeasureError;
use crate::suite::Direction;
use crate::units::Nanos;

/// Where the kernel lists the NUMA nodes.
const NODES: &str = "/sys/devices/system/node";

/// One way to issue requests. The caller guards: offsets lie in the file and fit the alignment, the file is open in the
/// leg's mode, the pool was touched.
pub(super) trait Engine: Send {
    /// Before the clock: whatever the kernel should know of file and memory.
    fn ready(&mut self, file: Option<&File>, pool: &mut Pool) -> Result<(), MeasureError>;

    /// Issues the requests of `work` in order until all are done or [`Work::over`] says so, telling `tally` of each.
    fn go(
        &mut self,
        work: &Work<'_>,
        pool: &mut Pool,
        tally: &mut Tally,
    ) -> Result<(), MeasureError>;

    /// What the record should know.
    fn note(&self) -> Option<String> {
        None
    }
}

/// One worker's part of a leg.
pub(super) struct Work<'a> {
    pub(super) file: Option<&'a File>,
    pub(super) direction: Direction,
    pub(super) block: usize,
    pub(super) offsets: Vec<u64>,
    pub(super) generation: u64,
    pub(super) clock: Clock,
    pub(super) shared: &'a Shared<'a>,
}

impl Work<'_> {
    /// Whether to issue no more: somebody failed, a signal came, or the leg took too long by the time `now`.
    pub(super) fn over(&self, now: u64) -> bool {
        self.shared.over(now)
    }

    /// `read` or `write`, for errors.
    pub(super) fn op(&self) -> &'static str {
        match self.direction {
            Direction::Read => "read",
            Direction::Write => "write",
        }
    }
}

/// One worker between legs. The engine is dropped first: a ring lets go of the pool before the pool is freed.
pub(super) struct Worker {
    pub(super) engine: Box<dyn Engine>,
    pub(super) pool: Pool,
    /// The CPU it is pinned to.
    pub(super) cpu: Option<usize>,
}

/// Runs one leg on all workers and adds up what they did.
pub(super) fn run(
    workers: &mut [Worker],
    work: Vec<Work<'_>>,
    shared: &Shared<'_>,
) -> Result<LegTally, MeasureError> {
    let gate = Gate::default();
    let (results, before, after) = std::thread::scope(|scope| {
        let mut threads = Vec::with_capacity(workers.len());
        let mut failed = None;
        for (worker, work) in workers.iter_mut().zip(&work) {
            let thread = std::thread::Builder::new().name("iogate-worker".to_owned());
            match thread.spawn_scoped(scope, || labour(worker, work, shared, &gate)) {
                Ok(thread) => threads.push(thread),
                Err(e) => failed = Some(e),
            }
        }
        gate.wait_for(threads.len());
        if failed.is_some() {
            shared.stop();
        }
        let before = cpu();
        gate.open();
        let results: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
        let after = cpu();
        match failed {
            None => Ok((results, before, after)),
            Some(source) => Err(MeasureError::Setup {
                what: "start a worker thread".to_owned(),
                source,
            }),
        }
    })?;
    shared.check()?;
    let mut tallies = Vec::with_capacity(results.len());
    for result in results {
        match result {
            Ok(tally) => tallies.push(tally?),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
    let mut leg = sum(&tallies, shared);
    leg.cpu_user = Nanos(after.0.saturating_sub(before.0));
    leg.cpu_system = Nanos(after.1.saturating_sub(before.1));
    match work.first().filter(|_| leg.moved.0 == 0) {
        None => Ok(leg),
        Some(work) => Err(MeasureError::Short {
            op: work.op(),
            offset: work.offsets.first().copied().unwrap_or(0),
            got: 0,
            wanted: work.block as u64,
        }),
    }
}

/// Where workers wait until all are ready, so that CPU time is read before any request and all start together.
#[derive(Default)]
struct Gate {
    /// How many wait, and whether it is open.
    state: Mutex<(usize, bool)>,
    changed: Condvar,
}

impl Gate {
    fn pass(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.0 += 1;
        self.changed.notify_all();
        while !state.1 {
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn wait_for(&self, count: usize) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.0 < count {
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn open(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).1 = true;
        self.changed.notify_all();
    }
}

/// What one thread does.
fn labour<'a>(
    worker: &mut Worker,
    work: &Work<'a>,
    shared: &'a Shared<'a>,
    gate: &Gate,
) -> Result<Tally<'a>, MeasureError> {
    if let Some(cpu) = worker.cpu {
        pin(cpu);
    }
    let mut tally = Tally::new(shared);
    let ready = worker.engine.ready(work.file, &mut worker.pool);
    if ready.is_err() {
        shared.stop();
    }
    gate.pass();
    let done = ready.and_then(|()| worker.engine.go(work, &mut worker.pool, &mut tally));
    tally.finish();
    if done.is_err() {
        shared.stop();
    }
    done.map(|()| tally)
}

/// User and system time of the process, in nanoseconds. Split by ticks, so only their sum is exact.
fn cpu() -> (u64, u64) {
    let nanos = |t: nix::sys::time::TimeVal| u64::try_from(t.num_nanoseconds()).unwrap_or(0);
    getrusage(UsageWho::RUSAGE_SELF)
        .map_or((0, 0), |u| (nanos(u.user_time()), nanos(u.system_time())))
}

/// CPUs this process may use, ascending: those of the device's NUMA node where it has one with any of them.
pub(super) fn cpus(node: Option<u32>) -> Vec<usize> {
    let Ok(set) = rustix::thread::sched_getaffinity(None) else {
        return Vec::new();
    };
    let all: Vec<usize> = (0..rustix::thread::CpuSet::MAX_CPU)
        .filter(|cpu| set.is_set(*cpu))
        .collect();
    let list = node.and_then(|n| std::fs::read_to_string(format!("{NODES}/node{n}/cpulist")).ok());
    let near: Vec<usize> = list.map_or_else(Vec::new, |list| {
        let listed = |cpu: &usize| in_list(&list, *cpu);
        all.iter().copied().filter(listed).collect()
    });
    if near.is_empty() { all } else { near }
}

/// Whether a CPU stands in a list as the kernel prints it: `0-3,8,10-11`.
fn in_list(list: &str, cpu: usize) -> bool {
    list.trim().split(',').any(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let bounds = first.parse::<usize>().ok().zip(last.parse::<usize>().ok());
        bounds.is_some_and(|(first, last)| (first..=last).contains(&cpu))
    })
}

/// Keeps the calling thread on one CPU; a CPU that went away since is no reason to fail.
fn pin(cpu: usize) {
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu);
    let _ = rustix::thread::sched_setaffinity(None, &set);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Interrupt;

    #[test]
    fn cpus_of_a_node_are_read_as_the_kernel_lists_them() {
        let of = |list| {
            (0..12)
                .filter(|cpu| in_list(list, *cpu))
                .collect::<Vec<_>>()
        };
        assert_eq!(of("0-3,8,10-11\n"), [0, 1, 2, 3, 8, 10, 11]);
        assert_eq!(of("5"), [5]);
        assert_eq!(of("\n"), [0; 0], "a node without CPUs");
        assert_eq!(
            cpus(Some(u32::MAX)),
            cpus(None),
            "a node that is not there narrows nothing"
        );
    }

    #[test]
    fn an_engine_that_cannot_get_ready_does_not_leave_the_others_waiting() {
        struct Broken;
        impl Engine for Broken {
            fn ready(&mut self, _: Option<&File>, _: &mut Pool) -> Result<(), MeasureError> {
                Err(MeasureError::Unavailable("broken".into()))
            }
            fn go(
                &mut self,
                _: &Work<'_>,
                _: &mut Pool,
                _: &mut Tally,
            ) -> Result<(), MeasureError> {
                Ok(())
            }
        }
        let interrupt = Interrupt::new();
        let shared = Shared::new(&interrupt, Nanos(1_000_000_000));
        let worker = || Worker {
            engine: Box::new(Broken),
            pool: Pool::new(4096, 1, 4096, crate::plan::DataPlan::Zero, 0),
            cpu: None,
        };
        let work = || Work {
            file: None,
            direction: Direction::Read,
            block: 4096,
            offsets: vec![0],
            generation: 1,
            clock: Clock::new(),
            shared: &shared,
        };
        let result = run(&mut [worker(), worker()], vec![work(), work()], &shared);
        assert!(
            matches!(result, Err(MeasureError::Unavailable(_))),
            "{result:?}"
        );
    }
}
