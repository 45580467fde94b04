//! From one value per key to a workload: defaults, and what does not go together.

use std::time::Duration;

use super::document::WrittenTest;
use super::keys::{Choice, Setting, Written};
use super::written::{Fault, Faults};
use super::{
    Block, Cache, DEFAULT_SIZE, Data, EngineKind, Flush, LegLength, Legs, NamedLeg, On, Proof, Rw,
    Workload, WriteMode,
};
use crate::units::{Bytes, KIB, MIB};

/// One value for every key that was written or has a default in the file.
#[derive(Debug, Clone)]
pub(super) struct Picks<'w> {
    test: &'w WrittenTest,
    picks: Vec<(&'w Written, &'w Choice)>,
}

/// The value of one key, if it was written.
macro_rules! pick {
    ($picks:expr, $kind:ident) => {
        $picks.find(|setting| match setting {
            Setting::$kind(value) => Some(value.clone()),
            _ => None,
        })
    };
}

impl<'w> Picks<'w> {
    pub(super) fn new(test: &'w WrittenTest, picks: Vec<(&'w Written, &'w Choice)>) -> Self {
        Self { test, picks }
    }

    /// The same with one more key.
    pub(super) fn with(&self, key: &'w Written, choice: &'w Choice) -> Self {
        let mut more = self.clone();
        more.picks.push((key, choice));
        more
    }

    /// Where the value of the innermost list stands.
    pub(super) fn last_list(&self) -> Option<usize> {
        let list = self.picks.iter().rev().find(|(key, _)| key.list);
        list.map(|(_, choice)| choice.at)
    }

    pub(super) fn slow(&self) -> bool {
        pick!(self, Slow).unwrap_or(false)
    }

    pub(super) fn advisory(&self) -> bool {
        pick!(self, Advisory).unwrap_or(false)
    }

    pub(super) fn budget(&self) -> Option<Duration> {
        pick!(self, Budget)
    }

    fn find<T>(&self, wanted: impl Fn(&Setting) -> Option<T>) -> Option<T> {
        let mut picks = self.picks.iter();
        picks.find_map(|(_, choice)| wanted(&choice.setting))
    }

    /// Where a key's value stands, or the test's name when it has none.
    fn place(&self, key: &str) -> usize {
        let found = self.picks.iter().find(|(k, _)| k.row.name == key);
        found.map_or(self.test.name_at, |(_, choice)| choice.at)
    }

    /// Whether the test itself holds the key, rather than `[defaults]`.
    fn own(&self, key: &str) -> bool {
        let mut keys = self.picks.iter();
        keys.any(|(k, _)| k.row.name == key && !k.default)
    }

    fn fault(&self, key: &str, found: impl Into<String>, allowed: &str) -> Fault {
        Fault::new(self.place(key), format!("test.{key}"), found, allowed)
    }
}

/// What must hold between keys; each rule is checked on its own, so that all broken ones are told.
const RULES: [fn(&Picks<'_>, &Workload) -> Option<Fault>; 9] = [
    depth_needs_io_uring,
    buffered_depth_needs_an_engine,
    mmap_is_buffered,
    block_fits_into_size,
    leg_holds_a_block,
    extent_is_addressable,
    file_and_device_are_read_only,
    file_or_device,
    files_stand_alone,
];

/// The workload of one test; `None` when it has no pattern or breaks a rule.
pub(super) fn workload(picks: &Picks<'_>, faults: &mut Faults) -> Option<Workload> {
    let Some(legs) = legs(picks) else {
        if !picks.test.unknown {
            let found = "a test without `rw`, `pair` or `[[test.leg]]`";
            let allowed =
                "exactly one of them, such as rw = \"read\" or pair = [\"read\", \"write\"]";
            faults.push(Fault::new(picks.test.name_at, "test", found, allowed));
        }
        return None;
    };
    let workload = with_defaults(picks, legs);
    let before = faults.len();
    for rule in RULES {
        if let Some(fault) = rule(picks, &workload) {
            faults.push(fault);
        }
    }
    (faults.len() == before).then_some(workload)
}

fn legs(picks: &Picks<'_>) -> Option<Legs> {
    let single = pick!(picks, Rw).map(Legs::Single);
    let pair = || pick!(picks, Pair).map(|[read, write]| Legs::Pair(read, write));
    let together = || {
        let legs = pick!(picks, Legs)?.into_iter();
        Some(Legs::Together(legs.map(|leg| leg.leg).collect()))
    };
    single.or_else(pair).or_else(together)
}

fn default_block(rw: Rw) -> Block {
    Block::Bytes(Bytes(if rw.is_random() { 4 * KIB } else { MIB }))
}

fn with_defaults(picks: &Picks<'_>, mut legs: Legs) -> Workload {
    let block = pick!(picks, Block);
    let first = match &mut legs {
        Legs::Single(rw) | Legs::Pair(rw, _) => *rw,
        Legs::Together(named) => {
            // Each leg's default follows its own pattern, so it is settled here and not by the test.
            for leg in named {
                leg.block = leg.block.or(block).or(Some(default_block(leg.rw)));
            }
            Rw::Read
        }
    };
    let mut workload = Workload {
        legs,
        size: pick!(picks, Size),
        leg: pick!(picks, Leg),
        time: pick!(picks, Time),
        block: block.unwrap_or(default_block(first)),
        engine: EngineKind::Psync,
        cache: Cache::Direct,
        depth: pick!(picks, Depth).unwrap_or(1),
        workers: pick!(picks, Workers).unwrap_or(1),
        data: pick!(picks, Data).unwrap_or(Data::Random),
        write: pick!(picks, Write).unwrap_or(WriteMode::Overwrite),
        flush: pick!(picks, Flush).unwrap_or(Flush::End),
        file: pick!(picks, File),
        scratch: pick!(picks, Scratch),
        files: pick!(picks, Files),
        on: pick!(picks, On).unwrap_or(On::File),
        zone: pick!(picks, Zone),
        disks: pick!(picks, Disks).unwrap_or(1),
        proof: pick!(picks, Proof).unwrap_or(Proof::Required),
    };
    workload.engine = match pick!(picks, Engine) {
        Some(engine) => engine,
        None if deepest(&workload) > 1 => EngineKind::IoUring,
        None => EngineKind::Psync,
    };
    workload.cache = match pick!(picks, Cache) {
        Some(cache) => cache,
        // A mapping has no way around the page cache.
        None if workload.engine == EngineKind::Mmap => Cache::Buffered,
        None => Cache::Direct,
    };
    workload
}

fn named(workload: &Workload) -> &[NamedLeg] {
    match &workload.legs {
        Legs::Together(legs) => legs,
        _ => &[],
    }
}

/// The largest depth of any leg.
fn deepest(workload: &Workload) -> u32 {
    let own = named(workload)
        .iter()
        .map(|leg| leg.depth.unwrap_or(workload.depth));
    own.max().unwrap_or(workload.depth)
}

/// The key that sets the largest depth.
fn depth_key(workload: &Workload) -> &'static str {
    if deepest(workload) == workload.depth {
        "depth"
    } else {
        "leg"
    }
}

fn depth_needs_io_uring(picks: &Picks<'_>, workload: &Workload) -> Option<Fault> {
    let engine = match workload.engine {
        EngineKind::Psync => "psync",
        EngineKind::Mmap => "mmap",
        EngineKind::IoUring | EngineKind::Null => return None,
    };
    let depth = deepest(workload);
    let found = format!("depth {depth} with engine = \"{engine}\"");
    let fault = picks.fault(depth_key(workload), found, "depth = 1 with this engine");
    let hint = format!(
        "engine = \"io_uring\" keeps {depth} requests in flight; workers = {depth} makes {depth} streams of one request each"
    );
    (depth > 1).then(|| fault.hint(hint))
}

fn buffered_depth_needs_an_engine(picks: &Picks<'_>, workload: &Workload) -> Option<Fault> {
    let depth = deepest(workload);
    let chosen = pick!(picks, Engine).is_some();
    if workload.cache != Cache::Buffered || depth == 1 || chosen {
        return None;
    }
    let found = format!("depth {depth} with cache = \"buffered\" and no engine");
    let fault = picks.fault(
        depth_key(workload),
        found,
        "depth = 1, or engine = \"io_uring\" written",
    );
    Some(fault.hint(
        "buffered tests use psync, which has one request in flight; buffered io_uring writes may all be served by one \
         kernel worker, so that engine is only taken when asked for",
    ))
}

fn mmap_is_buffered(picks: &Picks<'_>, workload: &Workload) -> Option<Fault> {
    let both = workload.engine == EngineKind::Mmap && workload.cache == Cache::Direct;
    let found = "cache = \"direct\" with engine = \"mmap\"";
    let allowed = "cache = \"buffered\" with this engine";
    both.then(|| {
        picks
            .fault("cache", found, allowed)
            .hint("a mapping has no way around the page cache")
    })
}

/// Block and size of every leg.
fn shapes(workload: &Workload) -> Vec<(Block, Bytes)> {
    let size = workload.size.unwrap_or(DEFAULT_SIZE);
    let legs = named(workload).iter();
    let mut shapes: Vec<_> = legs
        .map(|leg| {
            (
                leg.block.unwrap_or(workload.block),
                leg.size.unwrap_or(size),
            )
        })
        .collect();
    if shapes.is_empty() {
        shapes.push((workload.block, size));
    }
    shapes
}

fn block_fits_into_size(picks: &Picks<'_>, workload: &Workload) -> Option<Fault> {
    let too_large = shapes(workload)
        .into_iter()
        .find_map(|(block, size)| match block {
            Block::Bytes(block) if block > size => Some((block, size)),
            _ => None,
        });
    let (block, size) = too_large?;
    let found = format!("a block of {block} in a size of {size}");
    Some(picks.fault("block", found, "a block no larger than the size"))
}

fn leg_holds_a_block(picks: &Picks<'_>, workload: &Workload) -> Option<Fault> {
    let Some(LegLength::Bytes(leg)) = workload.leg else {
        return None;
    };
    let too_large = shapes(workload)
        .into_iter()
        .find_map(|(block, _)| match block {
            Block::Bytes(block) if block > leg => Some(block),
            _ => None,
        });
    let found = format!("a leg of {leg} with a block of {}", too_large?);
    Some(picks.fault("leg", found, "a leg of at least one block"))
}

/// Offsets are signed 64-bit numbers in every system call.
fn extent_is_addressable(picks: &Picks<'_>, workload: &Workload) -> Option<Fault> {
    let workers = |leg: &NamedLeg| leg.workers.unwrap_or(workload.workers);
    let most = named(workload)
        .iter()
        .map(workers)
        .max()
        .unwrap_or(workload.workers);
    let largest = shapes(workload).into_iter().map(|(_, size)| size.0).max()?;
    let total = u128::from(largest) * u128::from(most);
    let found = format!("{most} workers on {} each", Bytes(largest));
    let allowed = "a size times workers below 8388608 TiB (2^63 bytes)";
    (total >= 1 << 63).then(|| picks.fault("size", found, allowed))
}

fn file_and_device_are_read_only(picks: &Picks<'_>, workload: &Workload) -> Option<Fault> {
    let (key, what) = match (&workload.file, workload.on) {
        (Some(_), _) => ("file", "an existing file"),
        (None, On::Device) => ("on", "the block device below the file system"),
        (None, On::File) => return None,
    };
    let found = format!("a leg that writes on {what}");
    let allowed = "legs that read: rw = \"read\" or \"randread\"";
    let hint = "it is never created, written, truncated or removed; without this key the test writes a scratch file";
    workload
        .writes()
        .then(|| picks.fault(key, found, allowed).hint(hint))
}

fn file_or_device(picks: &Picks<'_>, workload: &Workload) -> Option<Fault> {
    let both = workload.file.is_some() && workload.on == On::Device;
    both.then(|| {
        let found = "on = \"device\" beside `file`";
        picks
            .fault("on", found, "one of them")
            .hint("`file` may itself name a block device")
    })
}

fn files_stand_alone(picks: &Picks<'_>, workload: &Workload) -> Option<Fault> {
    workload.files.as_ref()?;
    let random = match &workload.legs {
        Legs::Single(rw) | Legs::Pair(rw, _) => rw.is_random(),
        Legs::Together(_) => {
            let found = "`files` beside `[[test.leg]]`";
            return Some(picks.fault("files", found, "files with rw or pair"));
        }
    };
    if random {
        let fault = picks.fault(
            "files",
            "`files` with a random pattern",
            "rw = \"read\" or \"write\"",
        );
        return Some(fault.hint("each file is read whole; order = \"random\" shuffles the files"));
    }
    let clash = [
        ("size", picks.own("size")),
        ("file", workload.file.is_some()),
        ("on", workload.on == On::Device),
        ("zone", workload.zone.is_some()),
    ];
    let (key, _) = clash.into_iter().find(|&(_, clash)| clash)?;
    let found = format!("`{key}` beside `files`");
    Some(picks.fault(
        key,
        found,
        "files = { count = …, size = … } alone, made below --disk",
    ))
}
