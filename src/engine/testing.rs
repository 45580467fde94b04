//! A plan to start tests from, and a virtual disk: a clock, two rates, a cache and what disturbs it.

use std::fs::File;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use super::{Disk, Interrupt, LegSpec, LegTally, Space, latencies};
use crate::plan::{DataPlan, FlushPlan, LegPlan, Plan, Source, WorkloadKey};
use crate::sample::{Counters, Layout, MeasureError, Witness};
use crate::suite::{Cache, Direction, EngineKind, Rw};
use crate::units::{Bytes, GIB, MIB, Nanos};

pub(crate) const SECOND: u64 = 1_000_000_000;

/// A direct psync plan over 1 GiB with 1 MiB blocks and legs of one second.
pub(crate) fn plan(rws: &[Rw]) -> Plan {
    let leg = |rw: &Rw| LegPlan {
        rw: *rw,
        direction: rw.direction().unwrap(),
        bytes: None,
        aim: Nanos(SECOND),
        took: None,
    };
    Plan {
        test: "suite::test".into(),
        legs: rws.iter().map(leg).collect(),
        block: Bytes(MIB),
        depth: 1,
        workers: 1,
        extent: Bytes(GIB),
        two_files: false,
        engine: EngineKind::Psync,
        cache: Cache::Direct,
        data: DataPlan::Random,
        flush: FlushPlan::End,
        source: Source::Scratch("/nowhere".into()),
        alignment: 4096,
        warm_up: 2,
        keep: 20,
        seed: 1,
        needs: Bytes(0),
        writes: Bytes(64 * GIB),
        expected: Some(Nanos(0)),
        budget: Nanos(600 * SECOND),
        budget_given: false,
        read_ahead: Bytes(0),
        still: Nanos(100_000_000),
        stripe: Bytes(0),
        reread_after: Bytes(0),
        numa_node: None,
        proof_required: true,
        key: WorkloadKey::new(),
    }
}

/// What the disk and the kernel above it are like; tests change it through the shared handle.
#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) now: u64,
    pub(crate) read_rate: f64,
    pub(crate) write_rate: f64,
    /// Time of a flush that has nothing to move.
    pub(crate) flush: u64,
    /// Bytes of each write leg that the flush still has to move, at the write rate.
    pub(crate) cache: u64,
    pub(crate) dirty: u64,
    pub(crate) resident: u64,
    /// Pages left after each leg.
    pub(crate) leaves_resident: u64,
    /// Whether eviction works.
    pub(crate) evicts: bool,
    pub(crate) counters: Counters,
    /// Foreign bytes read during leg n.
    pub(crate) foreign: fn(usize) -> u64,
    /// Foreign bytes written during leg n.
    pub(crate) foreign_writes: fn(usize) -> u64,
    /// Share of reads served from memory.
    pub(crate) from_memory: f64,
    pub(crate) layout: Option<Layout>,
    /// Legs that ran.
    pub(crate) legs: Vec<LegSpec>,
    /// Parts laid out, per file.
    pub(crate) laid: Vec<(usize, Range<u64>)>,
    /// A signal raised during leg n.
    pub(crate) signal: Option<usize>,
    /// Ticks stolen of each hundred.
    pub(crate) stolen: u64,
    /// Somebody writes all the time.
    pub(crate) restless: bool,
    /// Bytes the device writes for each of ours.
    pub(crate) amp: f64,
    /// Requests that never return.
    pub(crate) stuck: u64,
    /// Memory touched, and the legs run before that.
    pub(crate) warmed: Vec<(Bytes, usize)>,
}

pub(crate) struct Virtual {
    pub(crate) world: Arc<Mutex<World>>,
    files: Vec<File>,
    plan: Plan,
}

pub(crate) struct Kernel(pub(crate) Arc<Mutex<World>>);

/// A quiet disk of 400 MB/s reads and 200 MB/s writes for `plan`.
pub(crate) fn quiet(plan: &Plan) -> (Virtual, Kernel) {
    let zero = Some(0);
    let world = World {
        now: 0,
        read_rate: 400e6,
        write_rate: 200e6,
        flush: 1_000_000,
        cache: 0,
        dirty: 0,
        resident: 0,
        leaves_resident: 0,
        evicts: true,
        counters: Counters {
            own_read: zero,
            own_written: zero,
            device_read: zero,
            device_written: zero,
            steal: Some((0, 0)),
        },
        foreign: |_| 0,
        foreign_writes: |_| 0,
        from_memory: 0.0,
        layout: Some(Layout {
            extents: 1,
            position: Bytes(0),
            not_data: Bytes(0),
        }),
        legs: Vec::new(),
        laid: Vec::new(),
        signal: None,
        stolen: 0,
        restless: false,
        amp: 1.0,
        stuck: 0,
        warmed: Vec::new(),
    };
    let world = Arc::new(Mutex::new(world));
    let count = match plan.source {
        Source::Nowhere => 0,
        _ => 1 + usize::from(plan.two_files),
    };
    let files = (0..count).map(|_| tempfile::tempfile().unwrap()).collect();
    (
        Virtual {
            world: Arc::clone(&world),
            files,
            plan: plan.clone(),
        },
        Kernel(world),
    )
}

fn add(counter: &mut Option<u64>, bytes: u64) {
    if let Some(counter) = counter {
        *counter += bytes;
    }
}

impl World {
    fn pass(&mut self, time: u64) {
        self.now += time;
        if let Some((stolen, all)) = self.counters.steal.as_mut() {
            *stolen += self.stolen * time / SECOND;
            *all += 100 * time / SECOND;
        }
        if self.restless {
            add(&mut self.counters.device_written, 4096);
        }
    }

    fn write(&mut self, bytes: u64) {
        add(&mut self.counters.own_written, bytes);
        let device = (bytes as f64 * self.amp) as u64 + (self.foreign_writes)(self.legs.len());
        add(&mut self.counters.device_written, device);
    }

    fn read(&mut self, bytes: u64) {
        let own = bytes - (bytes as f64 * self.from_memory) as u64;
        add(&mut self.counters.own_read, own);
        add(
            &mut self.counters.device_read,
            own + (self.foreign)(self.legs.len()),
        );
    }
}

impl Disk for Virtual {
    fn now(&self) -> Nanos {
        Nanos(self.world.lock().unwrap().now)
    }

    fn wait(&mut self, time: Nanos, _: &Interrupt) {
        self.world.lock().unwrap().pass(time.0);
    }

    fn files(&self) -> usize {
        self.files.len()
    }

    fn file(&self, index: usize) -> Option<&File> {
        self.files.get(index)
    }

    fn lay_out(
        &mut self,
        file: usize,
        part: Range<u64>,
        _: &Interrupt,
    ) -> Result<(), MeasureError> {
        let mut world = self.world.lock().unwrap();
        world.write(part.end - part.start);
        world.laid.push((file, part));
        Ok(())
    }

    fn touch(&mut self, _: &Space) -> Result<(), MeasureError> {
        self.world.lock().unwrap().write(4096);
        Ok(())
    }

    fn flush(&mut self) -> Result<Nanos, MeasureError> {
        let mut world = self.world.lock().unwrap();
        let drain = world.dirty as f64 / world.write_rate * 1e9;
        world.dirty = 0;
        let time = world.flush + drain as u64;
        world.pass(time);
        Ok(Nanos(time))
    }

    fn refresh(&mut self) -> Result<(), MeasureError> {
        let mut world = self.world.lock().unwrap();
        if world.evicts {
            world.resident = 0;
        }
        Ok(())
    }

    fn warm_memory(&mut self, bytes: Bytes) {
        let mut world = self.world.lock().unwrap();
        let legs = world.legs.len();
        world.warmed.push((bytes, legs));
    }

    fn run(&mut self, leg: &LegSpec, interrupt: &Interrupt) -> Result<LegTally, MeasureError> {
        let mut world = self.world.lock().unwrap();
        world.legs.push(leg.clone());
        if world.signal == Some(world.legs.len()) {
            interrupt
                .cell()
                .store(15, std::sync::atomic::Ordering::Relaxed);
        }
        interrupt.check()?;
        let read = leg.direction == Direction::Read;
        let rate = if read {
            world.read_rate
        } else {
            world.write_rate
        };
        let wanted = leg.bytes * u64::from(self.plan.workers);
        let fits = (rate * leg.limit.seconds()) as u64 / self.plan.block.0 * self.plan.block.0;
        let bytes = wanted.min(fits.max(self.plan.block.0));
        let cached = if read { 0 } else { bytes.min(world.cache) };
        let time = ((bytes - cached) as f64 / rate * 1e9) as u64 + cached / 100;
        world.pass(time);
        world.dirty += cached;
        if read {
            world.read(bytes)
        } else {
            world.write(bytes)
        }
        world.resident += world.leaves_resident;
        let requests = bytes / self.plan.block.0;
        let mut latency = latencies();
        latency.record_n(time / requests.max(1), requests).unwrap();
        Ok(LegTally {
            bytes: Bytes(bytes),
            time: Nanos(time),
            moved: Bytes(bytes),
            tail: Nanos(0),
            requests,
            cpu_user: Nanos(0),
            cpu_system: Nanos(0),
            series: Vec::new(),
            latency,
        })
    }
}

impl Witness for Kernel {
    fn counters(&self) -> Counters {
        self.0.lock().unwrap().counters
    }

    fn in_flight(&self) -> Option<u64> {
        Some(self.0.lock().unwrap().stuck)
    }

    fn resident(&self, _: &File) -> Option<Bytes> {
        Some(Bytes(self.0.lock().unwrap().resident))
    }

    fn layout(&self, _: &File) -> Option<Layout> {
        self.0.lock().unwrap().layout
    }
}
