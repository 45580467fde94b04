//! The workload in words: what a baseline and a run must share to be compared.

use super::{DataPlan, FlushPlan, Plan, Source, WorkloadKey};
use crate::suite::{Cache, EngineKind, LegLength, Workload};
use crate::units::{GIB, KIB, MIB};

/// What a baseline must share, in words that never round.
pub(super) fn key(work: &Workload, plan: &Plan) -> WorkloadKey {
    let engine = match plan.engine {
        EngineKind::Psync => "psync",
        EngineKind::Mmap => "mmap",
        EngineKind::IoUring => "io_uring",
        EngineKind::Null => "null",
    };
    let cache = match plan.cache {
        Cache::Direct => "direct",
        Cache::Buffered => "buffered",
    };
    let flush = match plan.flush {
        FlushPlan::End => "end",
        FlushPlan::None => "none",
    };
    let data = match plan.data {
        DataPlan::Random => "random".to_owned(),
        DataPlan::Zero => "zero".to_owned(),
        DataPlan::ZeroTail(bytes) => {
            format!("{bytes} of {} zeros", exact(plan.block.0.min(4 * KIB)))
        }
    };
    let legs: Vec<&str> = plan.legs.iter().map(|l| l.rw.word()).collect();
    let leg = match work.leg {
        Some(LegLength::Bytes(bytes)) => exact(bytes.0),
        Some(LegLength::Time(_)) | None => {
            format!("{} s", plan.legs.first().map_or(0.0, |l| l.aim.seconds()))
        }
    };
    let source = match plan.source {
        Source::Scratch(_) if plan.two_files => "two scratch files",
        Source::Scratch(_) => "scratch",
        Source::Existing(_) => "existing",
        Source::Nowhere => "none",
    };
    let words = [
        ("block", exact(plan.block.0)),
        ("cache", cache.to_owned()),
        ("data", data),
        ("depth", plan.depth.to_string()),
        ("engine", engine.to_owned()),
        ("flush", flush.to_owned()),
        ("leg", leg),
        ("legs", legs.join(", ")),
        ("size", exact(plan.extent.0)),
        ("source", source.to_owned()),
        ("workers", plan.workers.to_string()),
    ];
    words.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()
}

/// Whether a workload is the null engine's, which does no I/O: timed, never judged or kept.
pub(crate) fn does_no_io(workload: &WorkloadKey) -> bool {
    workload
        .get("engine")
        .is_some_and(|engine| engine == "null")
}

/// Bytes in the largest unit that divides them: two different sizes never read alike.
pub(crate) fn exact(bytes: u64) -> String {
    let units = [(1 << 40, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")];
    let fitting = units
        .into_iter()
        .find(|(unit, _)| bytes >= *unit && bytes.is_multiple_of(*unit));
    fitting.map_or_else(
        || format!("{bytes} B"),
        |(unit, name)| format!("{} {name}", bytes / unit),
    )
}
