//! How much of the disk a session takes, and what the disk says of its own units.

use super::key::exact;
use super::make::{No, rws};
use super::{Ask, Source};
use crate::facts::Facts;
use crate::suite::Workload;
use crate::units::{Bytes, GIB, KIB, MIB};

/// Extent per worker where the suite names none, unless rereading asks for more.
const DEFAULT_EXTENT: u64 = 4 * GIB;
/// The same in a trial.
const TRIAL_EXTENT: u64 = 256 * MIB;
/// What a drive, a host or a controller without a name may hold in memory.
const CACHE_BELOW: u64 = GIB;
/// What a RAID controller may hold.
const CACHE_OF_CONTROLLER: u64 = 8 * GIB;
/// How many times its own size must pass through a cache until what it held is surely gone.
const PUSHED_OUT: u64 = 4;
/// Least traffic between two readings of one byte.
const LEAST_REUSE: u64 = GIB;
/// Most bytes a stripe is believed to have: USB bridges report nonsense just below 32 MiB, which is no multiple of a page.
const MOST_STRIPE: u64 = 64 * MIB;

/// Traffic that pushes a byte out of whatever caches may lie below.
pub(super) fn reread_after(facts: &Facts) -> Bytes {
    let behind = facts.host.notes.get("behind");
    let cache = if behind.is_some_and(|b| b.contains("raid")) {
        CACHE_OF_CONTROLLER
    } else {
        CACHE_BELOW
    };
    Bytes((PUSHED_OUT * cache).max(LEAST_REUSE))
}

/// The extent of each worker when neither suite nor file settles it: so large that no byte is read again before
/// [`reread_after`]. A quarter is added because runs of one leg each never fill an extent to its end; reads that get a
/// half of it whatever share of the traffic they are need twice as much.
fn default_extent(work: &Workload, facts: &Facts) -> u64 {
    let rws = rws(work);
    let pair = rws.len() == 2;
    let halves = rws.iter().any(|rw| rw.is_random())
        || facts.filesystem.as_ref().is_some_and(|f| f.copy_on_write);
    let need = match (pair, halves) {
        (false, _) => reread_after(facts).0,
        (true, false) => reread_after(facts).0 / 4 * 5,
        (true, true) => reread_after(facts).0 * 2,
    };
    need.div_ceil(u64::from(work.workers.max(1)))
        .next_multiple_of(MIB)
        .max(DEFAULT_EXTENT)
}

/// The device's preferred unit, where it can be believed.
pub(super) fn stripe(facts: &Facts) -> Bytes {
    let queue = facts.top().and_then(|l| l.queue.as_ref());
    let sane = queue.filter(|q| {
        let unit = q.physical_block_size.max(4 * KIB);
        q.optimal_io_size <= MOST_STRIPE && q.optimal_io_size.is_multiple_of(unit)
    });
    Bytes(sane.map_or(0, |q| q.optimal_io_size))
}

/// Bytes of each worker's own region, a multiple of the block.
pub(super) fn extent(
    work: &Workload,
    facts: &Facts,
    ask: &Ask,
    source: &Source,
    block: Bytes,
) -> Result<Bytes, No> {
    let default = match (ask.trial, source) {
        (true, _) => TRIAL_EXTENT,
        (false, Source::Scratch(_)) => default_extent(work, facts),
        (false, _) => DEFAULT_EXTENT,
    };
    let mut extent = work.size.map_or(default, |s| s.0);
    if let Source::Existing(path) = source {
        let Some(size) = ask.existing else {
            return Err(No::Refuse(format!(
                "{} cannot be opened, so its size is unknown",
                path.display()
            )));
        };
        let share = size.0 / u64::from(work.workers.max(1));
        if work.size.is_some_and(|wanted| wanted.0 > share) {
            return Err(No::Refuse(format!(
                "{} holds {}, too little for {} workers of {} each; lower `size` or `workers`",
                path.display(),
                exact(size.0),
                work.workers,
                exact(extent)
            )));
        }
        extent = work.size.map_or(share, |s| s.0);
    }
    let extent = extent - extent % block.0;
    // One leg needs a region with at least one request; two take turns in two halves.
    let least = block.0 * rws(work).len() as u64;
    if extent < least {
        return Err(No::Refuse(format!(
            "a worker's extent of {} is too small for block {}; at least {} is needed",
            exact(work.size.map_or(extent, |s| s.0)),
            exact(block.0),
            exact(least)
        )));
    }
    Ok(Bytes(extent))
}
