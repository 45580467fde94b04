//! The arrow from `Test` to `Plan`: each helper settles one question and refuses with what was found and the cure.

use std::path::PathBuf;

use super::amount::{bytes, times};
use super::key::{exact, key};
use super::place::{extent, reread_after, stripe};
use super::{
    Ask, DataPlan, FlushPlan, LegPlan, MOST_REQUESTS, NOT_YET, Plan, Planned, Source, WorkloadKey,
};
use crate::facts::{Facts, TargetKind};
use crate::suite::{
    Block, Cache, Data, Direction, EngineKind, Flush, LegLength, Legs, Proof, Rw, Test, Workload,
};
use crate::units::{Bytes, GIB, KIB, Nanos};

/// Largest request: one registered buffer of io_uring holds no more.
const MAX_BLOCK: u64 = GIB;
/// Largest queue io_uring makes (`IORING_MAX_ENTRIES`).
const MAX_DEPTH: u32 = 32768;
/// Rounds measured and dropped first.
const WARM_UP: u32 = 2;
/// Rounds to keep.
const KEEP: u32 = 20;
/// The same in a trial.
const TRIAL_KEEP: u32 = 8;
/// Time a leg aims at.
const AIM: u64 = 1_000_000_000;
/// The same where a cgroup limit fills and empties a token bucket.
const AIM_THROTTLED: u64 = 3_000_000_000;
/// How long a disk must stand still between two legs.
const STILL: u64 = 100_000_000;
/// The same where a cgroup limit holds. The kernel hands out bytes per slice of 100 ms and lets the slice of the last
/// request run on for up to 200 ms (block/blk-throttle.c, `throtl_slice`): a leg that begins within it is given what
/// the pause saved up, 3 % of a leg of three seconds, and one that begins after it is not. After a leg of the other
/// direction the slice is always over, so a short pause would make every other round look faster.
const STILL_THROTTLED: u64 = 300_000_000;

/// Why there is no plan.
pub(super) enum No {
    Skip(String),
    Refuse(String),
}

/// Decides what a session of `test` does on the disk described by `facts`.
///
/// Never falls back: a block that does not fit, a file system without direct I/O or too little space is a
/// [`Planned::Refuse`] that names what was found and what to change.
#[must_use]
pub fn plan(test: &Test, facts: &Facts, ask: &Ask) -> Planned {
    match make(test, facts, ask) {
        Ok(plan) => Planned::Run(Box::new(plan)),
        Err(No::Skip(why)) => Planned::Skip(why),
        Err(No::Refuse(why)) => Planned::Refuse(why),
    }
}

fn make(test: &Test, facts: &Facts, ask: &Ask) -> Result<Plan, No> {
    let work = &test.workload;
    not_yet(work)?;
    in_flight(work)?;
    let source = source(work, facts)?;
    let alignment = alignment(work, facts, &source)?;
    let random = rws(work).iter().any(|rw| rw.is_random());
    let block = block(work, facts, alignment, random)?;
    let reread_after = reread_after(facts);
    let extent = extent(work, facts, ask, &source, block)?;
    let legs = legs(work, facts, ask, block)?;
    let pair = legs.len() == 2;
    let copy_on_write = facts.filesystem.as_ref().is_some_and(|f| f.copy_on_write);
    let two_files = pair && copy_on_write && matches!(source, Source::Scratch(_));
    let keep = if ask.trial { TRIAL_KEEP } else { KEEP };
    let mut plan = Plan {
        test: test.full_name(),
        legs,
        block,
        depth: work.depth,
        workers: work.workers,
        extent,
        two_files,
        engine: work.engine,
        cache: work.cache,
        data: data(work.data, block)?,
        flush: if work.flush == Flush::None {
            FlushPlan::None
        } else {
            FlushPlan::End
        },
        source,
        alignment,
        warm_up: WARM_UP,
        keep,
        seed: ask.seed,
        needs: Bytes(0),
        writes: Bytes(0),
        expected: None,
        budget: Nanos(0),
        // A trial's is never stretched either.
        budget_given: test.budget.is_some() || ask.trial,
        read_ahead: Bytes(
            facts
                .top()
                .and_then(|l| l.queue.as_ref())
                .map_or(0, |q| q.read_ahead_kb * KIB),
        ),
        still: Nanos(if is_throttled(facts) {
            STILL_THROTTLED
        } else {
            STILL
        }),
        stripe: stripe(facts),
        reread_after,
        numa_node: facts
            .host
            .notes
            .get("numa_node")
            .and_then(|node| node.parse().ok()),
        proof_required: work.proof == Proof::Required,
        key: WorkloadKey::new(),
    };
    once_round(&plan)?;
    bytes(&mut plan, facts, ask)?;
    times(&mut plan, test, facts, ask);
    plan.key = key(work, &plan);
    Ok(plan)
}

/// A buffered leg that goes round its extent reads its own bytes from the page cache the second time.
fn once_round(plan: &Plan) -> Result<(), No> {
    let buffered = plan.cache == Cache::Buffered;
    let longest = plan.legs.iter().filter_map(|l| l.bytes).map(|b| b.0).max();
    match longest.filter(|longest| buffered && *longest > plan.once()) {
        Some(longest) => Err(No::Refuse(format!(
            "a buffered leg of {} would touch its {} more than once, the second time from memory; raise `size` to {} \
             or shorten `leg`",
            exact(longest),
            exact(plan.once()),
            exact(
                plan.extent
                    .0
                    .saturating_mul(longest.div_ceil(plan.once().max(1)))
            )
        ))),
        None => Ok(()),
    }
}

/// Keys whose workload this version does not measure.
fn not_yet(work: &Workload) -> Result<(), No> {
    match work.not_yet() {
        Some(key) => Err(No::Skip(format!("{NOT_YET} ({key})"))),
        None => Ok(()),
    }
}

/// What an engine cannot keep in flight is never silently less.
fn in_flight(work: &Workload) -> Result<(), No> {
    let why = match (work.engine, work.depth, work.workers) {
        (_, 0, _) | (_, _, 0) => "`depth` and `workers` are at least 1".to_owned(),
        (EngineKind::Psync, 2.., _) => {
            format!(
                "psync keeps one request in flight, and `depth` is {}; write `engine = \"io_uring\"`",
                work.depth
            )
        }
        (EngineKind::IoUring, depth, _) if depth > MAX_DEPTH => {
            format!("io_uring queues at most {MAX_DEPTH} requests, and `depth` is {depth}")
        }
        _ => return Ok(()),
    };
    Err(No::Refuse(why))
}

pub(super) fn rws(work: &Workload) -> Vec<Rw> {
    match &work.legs {
        Legs::Single(rw) => vec![*rw],
        Legs::Pair(a, b) => vec![*a, *b],
        Legs::Together(legs) => legs.iter().map(|l| l.rw).collect(),
    }
}

fn writes(work: &Workload) -> bool {
    rws(work)
        .iter()
        .any(|rw| rw.direction() != Some(Direction::Read))
}

/// Where the bytes are; what may be written to.
fn source(work: &Workload, facts: &Facts) -> Result<Source, No> {
    if work.engine == EngineKind::Null {
        return Ok(Source::Nowhere);
    }
    // A relative `file` lies on the disk, not where the process happens to run.
    let existing: Option<PathBuf> = match facts.kind {
        TargetKind::BlockDevice => Some(facts.target.clone()),
        TargetKind::Directory => work.file.as_ref().map(|file| facts.target.join(file)),
    };
    match existing {
        None => Ok(Source::Scratch(facts.target.clone())),
        Some(path) if !writes(work) => Ok(Source::Existing(path)),
        Some(path) if facts.kind == TargetKind::BlockDevice => Err(No::Refuse(format!(
            "{} is a block device and this test writes; name a directory on its file system, or run read-only tests",
            path.display()
        ))),
        Some(path) => Err(No::Refuse(format!(
            "`file` names {}, which is only ever read, and this test writes; drop `file` or the write leg",
            path.display()
        ))),
    }
}

/// The multiple that offsets and lengths keep; 1 through the page cache.
fn alignment(work: &Workload, facts: &Facts, source: &Source) -> Result<u64, No> {
    if *source == Source::Nowhere || work.cache == Cache::Buffered {
        return Ok(1);
    }
    if facts.alignment.direct {
        return Ok(facts.alignment.offset.max(1));
    }
    let kind = facts
        .filesystem
        .as_ref()
        .map_or("this device", |f| f.kind.as_str());
    Err(No::Refuse(format!(
        "{kind} at {} takes no direct I/O, and a direct test is never run through the page cache instead; \
         write `cache = \"buffered\"` or choose another disk",
        facts.target.display()
    )))
}

fn block(work: &Workload, facts: &Facts, alignment: u64, random: bool) -> Result<Bytes, No> {
    let smallest = facts.alignment.offset.max(512);
    let block = match work.block {
        Block::Min => smallest,
        Block::Bytes(bytes) => bytes.0,
    };
    let problem = if block == 0 || !block.is_multiple_of(alignment) {
        format!(
            "it is not a multiple of {}, which direct I/O at {} needs ({})",
            exact(alignment),
            facts.target.display(),
            facts.alignment.source
        )
    } else if block > MAX_BLOCK {
        format!("the largest request is {}", exact(MAX_BLOCK))
    } else {
        return Ok(Bytes(block));
    };
    let up = block
        .max(1)
        .next_multiple_of(alignment.max(smallest))
        .min(MAX_BLOCK);
    let hint = if random {
        exact(up.max(4 * KIB))
    } else {
        exact(up)
    };
    Err(No::Refuse(format!(
        "block {} cannot be used: {problem}; write `block = \"{hint}\"`",
        exact(block)
    )))
}

/// A cgroup limit on bytes or requests holds for this process; one on memory fills no token bucket.
fn is_throttled(facts: &Facts) -> bool {
    let bucket = |key: &String| key.starts_with("cgroup.read_") || key.starts_with("cgroup.write_");
    facts.settings.keys().any(bucket)
}

fn legs(work: &Workload, facts: &Facts, ask: &Ask, block: Bytes) -> Result<Vec<LegPlan>, No> {
    // A trial tells no small changes apart and is to be over soon.
    let floor = if is_throttled(facts) && !ask.trial {
        AIM_THROTTLED
    } else {
        AIM
    };
    let (aim, written) = match work.leg {
        None => (Nanos(floor), None),
        Some(LegLength::Time(time)) => (Nanos::from(time), None),
        Some(LegLength::Bytes(bytes)) => (Nanos(floor), Some(bytes)),
    };
    let rws = rws(work);
    if ask
        .fixed
        .as_ref()
        .is_some_and(|fixed| fixed.len() != rws.len())
    {
        return Err(No::Refuse(format!(
            "the baseline fixes the bytes of another number of legs than the {} of this test; accept a new one",
            rws.len()
        )));
    }
    let step = block.0 * u64::from(work.workers.max(1));
    if let Some(leg) = written.filter(|leg| leg.0 / block.0 > MOST_REQUESTS) {
        return Err(No::Refuse(format!(
            "a leg of {} in blocks of {} has more than {MOST_REQUESTS} requests; shorten `leg` or raise `block`",
            exact(leg.0),
            exact(block.0)
        )));
    }
    let leg = |(i, rw): (usize, Rw)| {
        let Some(direction) = rw.direction() else {
            return Err(No::Skip(NOT_YET.to_owned()));
        };
        // A baseline's bytes stand; written ones are rounded up to whole requests of every worker.
        let fixed = ask.fixed.as_ref().map(|fixed| fixed[i]);
        let bytes = fixed.map(|f| f.bytes).or(written);
        let bytes = bytes.map(|b| Bytes(b.0.max(1).next_multiple_of(step)));
        Ok(LegPlan {
            rw,
            direction,
            bytes,
            aim,
            took: fixed.and_then(|f| f.took),
        })
    };
    rws.into_iter().enumerate().map(leg).collect()
}

fn data(data: Data, block: Bytes) -> Result<DataPlan, No> {
    Ok(match data {
        Data::Random => DataPlan::Random,
        Data::Zero => DataPlan::Zero,
        Data::Compressible(share) if (0.0..=1.0).contains(&share.0) => {
            let unit = block.0.min(4 * KIB);
            // A share of one is at most 4096: exact in both types.
            DataPlan::ZeroTail((share.0 * unit as f64).round() as u32)
        }
        Data::Compressible(share) => {
            return Err(No::Refuse(format!(
                "`compressible` is {share}, and a share lies between 0 % and 100 %"
            )));
        }
    })
}
