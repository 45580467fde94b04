//! What follows from a workload: the figures it yields, and whether this version can measure it.

use super::{
    Direction, EngineKind, Flush, Legs, Metric, MetricKind, On, Rw, Scratch, Workload, WriteMode,
};
use crate::units::Bytes;

/// Extent per worker when the file does not say; only this default may be raised by the plan.
pub const DEFAULT_SIZE: Bytes = Bytes(4 << 30);

impl Workload {
    /// Patterns of the legs in their order, with the leg's name where it has one.
    fn patterns(&self) -> Vec<(Option<&str>, Rw)> {
        match &self.legs {
            Legs::Single(rw) => vec![(None, *rw)],
            Legs::Pair(read, write) => vec![(None, *read), (None, *write)],
            Legs::Together(legs) => {
                let named = legs.iter().map(|leg| (Some(leg.name.as_str()), leg.rw));
                named.collect()
            }
        }
    }

    /// Whether any leg writes.
    #[must_use]
    pub fn writes(&self) -> bool {
        let mut patterns = self.patterns().into_iter();
        patterns.any(|(_, rw)| rw.direction() != Some(Direction::Read))
    }

    /// Every metric it yields, `ratio` first, then leg by leg.
    #[must_use]
    pub fn metrics(&self) -> Vec<Metric> {
        let mut all = Vec::new();
        if matches!(self.legs, Legs::Pair(..)) {
            all.push(MetricKind::Ratio.into());
        }
        for (leg, rw) in self.patterns() {
            let kinds = leg_metrics(rw).into_iter();
            all.extend(kinds.map(|kind| Metric {
                leg: leg.map(str::to_owned),
                kind,
            }));
        }
        if self.files.is_some() {
            all.push(MetricKind::Files.into());
        }
        // A pair has one figure for the CPU, not one a leg.
        let mut seen = Vec::new();
        all.retain(|metric| {
            let new = !seen.contains(metric);
            seen.push(metric.clone());
            new
        });
        all
    }

    /// The metrics that are gated without a word in the file: ratio, read and write of a pair, a single leg's own
    /// rate (requests per second when random). None for the null engine, whose figures are never judged.
    #[must_use]
    pub fn gated_by_default(&self) -> Vec<Metric> {
        if self.engine == EngineKind::Null {
            return Vec::new();
        }
        if let Legs::Pair(..) = self.legs {
            let [read, write] = [Direction::Read, Direction::Write].map(MetricKind::Rate);
            return [MetricKind::Ratio, read, write].map(Metric::from).to_vec();
        }
        let own = |(leg, rw): (Option<&str>, Rw)| {
            let rate = |way| match rw.is_random() {
                true => MetricKind::Iops(way),
                false => MetricKind::Rate(way),
            };
            let leg = leg.map(str::to_owned);
            let metric = move |way| Metric {
                leg: leg.clone(),
                kind: rate(way),
            };
            ways(rw).into_iter().map(metric).collect::<Vec<_>>()
        };
        self.patterns().into_iter().flat_map(own).collect()
    }

    /// The key this version does not measure yet, as it would be written; `None` when all of it is measured.
    #[must_use]
    pub fn not_yet(&self) -> Option<&'static str> {
        let together = matches!(self.legs, Legs::Together(_));
        let mixed = self.patterns().iter().any(|&(_, rw)| rw == Rw::RandRw);
        let later = [
            (together, "[[test.leg]]"),
            (mixed, "rw = \"randrw\""),
            (self.files.is_some(), "files"),
            (self.time.is_some(), "time"),
            (self.engine == EngineKind::Mmap, "engine = \"mmap\""),
            (self.write == WriteMode::Append, "write = \"append\""),
            (self.write == WriteMode::NewFile, "write = \"new-file\""),
            (self.flush == Flush::Each, "flush = \"each\""),
            (self.on == On::Device, "on = \"device\""),
            (self.zone.is_some(), "zone"),
            (self.disks > 1, "disks"),
            (self.scratch == Some(Scratch::Kept), "scratch = \"kept\""),
        ];
        later.into_iter().find(|&(now, _)| now).map(|(_, key)| key)
    }
}

fn ways(rw: Rw) -> Vec<Direction> {
    match rw.direction() {
        Some(way) => vec![way],
        None => vec![Direction::Read, Direction::Write],
    }
}

fn leg_metrics(rw: Rw) -> Vec<MetricKind> {
    let ways = ways(rw);
    let mut kinds = Vec::new();
    for &way in &ways {
        kinds.extend([MetricKind::Rate(way), MetricKind::Iops(way)]);
        kinds.extend([500, 990, 999].map(|p| MetricKind::Latency(way, p)));
    }
    if ways.contains(&Direction::Write) {
        kinds.extend([MetricKind::Flush, MetricKind::WriteAccepted]);
    }
    kinds.push(MetricKind::Cpu);
    kinds
}
