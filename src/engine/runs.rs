//! Where the bytes of a leg lie: alternating runs of one file, halves of a pair of files, regions of workers.
//!
//! Pure geometry. The extent of each worker is cut into R0 W0 R1 W1 … so that both legs of a pair work in the same
//! zone of the disk, yet nothing that is read was ever rewritten and nothing that is written was ever read. Legs walk
//! their runs from where they last stopped and begin again at the end.

use crate::plan::Plan;
use crate::units::{Bytes, MIB};

/// Run length of a pair with random legs: offsets are spread over all runs, so that only the zone matters.
const RANDOM_RUN: u64 = 64 * MIB;

/// The part of the scratch that belongs to one leg. All figures are bytes and multiples of the block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// Index of the file.
    pub file: usize,
    /// Offset of worker 0's first byte.
    pub base: u64,
    /// From one worker's first byte to the next one's.
    pub per_worker: u64,
    /// Length of a run.
    pub run: u64,
    /// From the start of one run to that of the next.
    pub stride: u64,
    /// Number of runs of each worker.
    pub runs: u64,
}

impl Space {
    /// Bytes of each worker.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.run * self.runs
    }

    /// File offset of byte `at` (taken modulo [`Self::size`]) of a worker.
    #[must_use]
    pub fn offset(&self, worker: u64, at: u64) -> u64 {
        let at = at % self.size();
        self.base + worker * self.per_worker + at / self.run * self.stride + at % self.run
    }

    /// Offsets of the requests of one worker that begin at byte `from` of its walk and move `bytes`.
    ///
    /// With a `shuffle` seed the walk is a random order of the blocks that repeats none before all were used.
    #[must_use]
    pub fn offsets(
        &self,
        worker: u64,
        from: u64,
        bytes: u64,
        block: u64,
        shuffle: Option<u64>,
    ) -> Vec<u64> {
        let blocks = self.size() / block;
        let steps = from / block..(from + bytes) / block;
        let Some(seed) = shuffle else {
            return steps
                .map(|step| self.offset(worker, step % blocks * block))
                .collect();
        };
        let mut epoch = u64::MAX;
        let mut order = Permutation::new(blocks, 0);
        let place = |step: u64| {
            if step / blocks != epoch {
                epoch = step / blocks;
                order = Permutation::new(blocks, mix(seed ^ mix(worker) ^ epoch));
            }
            self.offset(worker, order.at(step % blocks) * block)
        };
        steps.map(place).collect()
    }
}

/// The spaces of a plan's legs, in their order. `legs` are the bytes of each leg over all workers.
#[must_use]
pub(crate) fn spaces(plan: &Plan, legs: &[u64]) -> Vec<Space> {
    let (extent, block) = (plan.extent.0, plan.block.0);
    let half = extent / 2 / block * block;
    if plan.legs.len() < 2 {
        return vec![Space {
            file: 0,
            base: 0,
            per_worker: extent,
            run: extent,
            stride: extent,
            runs: 1,
        }];
    }
    if plan.two_files {
        let one = |file| Space {
            file,
            base: 0,
            per_worker: half,
            run: half,
            stride: half,
            runs: 1,
        };
        return (0..plan.legs.len()).map(one).collect();
    }
    let random = plan.legs.iter().any(|l| l.rw.is_random());
    let run = |leg: &u64| {
        let wanted = if random {
            RANDOM_RUN
        } else {
            leg / u64::from(plan.workers)
        };
        wanted.next_multiple_of(block).clamp(block, half)
    };
    let lengths: Vec<u64> = legs.iter().map(run).collect();
    let stride: u64 = lengths.iter().sum();
    let mut base = 0;
    let next = |run: &u64| {
        let space = Space {
            file: 0,
            base,
            per_worker: extent,
            run: *run,
            stride,
            runs: extent / stride,
        };
        base += run;
        space
    };
    lengths.iter().map(next).collect()
}

/// Bytes each file of the plan holds.
#[must_use]
pub(crate) fn file_sizes(plan: &Plan) -> Vec<u64> {
    let (extent, workers) = (plan.extent.0, u64::from(plan.workers));
    if plan.two_files {
        let half = extent / 2 / plan.block.0 * plan.block.0;
        vec![half * workers; 2]
    } else {
        vec![extent * workers]
    }
}

/// Traffic between two readings of one byte: what a cache below would have to hold to answer from memory. The
/// shortest over the read legs; `None` without one.
#[must_use]
pub(crate) fn reuse_distance(plan: &Plan, spaces: &[Space], legs: &[u64]) -> Option<Bytes> {
    let round: u64 = legs.iter().sum();
    let reads = plan.legs.iter().zip(spaces).zip(legs);
    let reads = reads.filter(|((leg, _), _)| leg.direction == crate::suite::Direction::Read);
    let distance = |((_, space), &bytes): ((_, &Space), &u64)| {
        let size = space.size() * u64::from(plan.workers);
        if bytes == 0 || bytes > size {
            return size;
        }
        // The rounds one walk takes, each with the traffic of both legs.
        u64::try_from(u128::from(size) * u128::from(round) / u128::from(bytes)).unwrap_or(u64::MAX)
    };
    reads.map(distance).min().map(Bytes)
}

/// A seeded bijection of `0..n` without a table: a Feistel network over the next power of four, walked until it
/// lands inside (Black and Rogaway, "Ciphers with Arbitrary Finite Domains", 2002).
struct Permutation {
    n: u64,
    half: u32,
    keys: [u64; 4],
}

impl Permutation {
    fn new(n: u64, seed: u64) -> Self {
        let bits = u64::BITS - n.saturating_sub(1).leading_zeros();
        let half = bits.div_ceil(2).max(1);
        Self {
            n,
            half,
            keys: [1, 2, 3, 4].map(|i| mix(seed ^ mix(i))),
        }
    }

    fn at(&self, index: u64) -> u64 {
        let mask = (1 << self.half) - 1;
        let mut x = index;
        loop {
            let (mut left, mut right) = (x >> self.half, x & mask);
            for key in self.keys {
                (left, right) = (right, left ^ (mix(right ^ key) & mask));
            }
            x = left << self.half | right;
            if x < self.n {
                return x;
            }
        }
    }
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood, 2014): every input bit reaches every output bit.
pub(crate) fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// Whether round `index` runs its legs in turned order: of each four rounds two do, which ones is drawn from `seed`
/// (`statistics`: balanced, so that order cancels; shuffled, so that nothing periodic can hide behind it).
#[must_use]
pub(crate) fn turned(seed: u64, index: u32) -> bool {
    let mut block = [false, false, true, true];
    fastrand::Rng::with_seed(mix(seed ^ u64::from(index / 4))).shuffle(&mut block);
    block[index as usize % 4]
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::engine::testing::plan;
    use crate::suite::Rw;
    use crate::units::KIB;

    #[test]
    fn every_byte_belongs_to_one_leg_of_one_worker() {
        let mut plan = plan(&[Rw::Read, Rw::Write]);
        (plan.workers, plan.extent, plan.block) = (3, Bytes(64 * KIB), Bytes(4 * KIB));
        let spaces = spaces(&plan, &[3 * 8 * KIB, 3 * 4 * KIB]);
        let mut seen = HashSet::new();
        for space in &spaces {
            for worker in 0..3 {
                for offset in space.offsets(worker, 0, space.size(), 4 * KIB, None) {
                    assert!(offset / (64 * KIB) == worker, "worker {worker} at {offset}");
                    assert!(seen.insert(offset), "{offset} twice");
                }
            }
        }
        // Five periods of 12 KiB in 64 KiB, three blocks each, three workers.
        assert_eq!(seen.len(), 5 * 3 * 3);
    }

    #[test]
    fn runs_alternate_and_have_the_length_of_a_leg() {
        let mut plan = plan(&[Rw::Read, Rw::Write]);
        (plan.extent, plan.block) = (Bytes(10 * MIB), Bytes(MIB));
        let spaces = spaces(&plan, &[2 * MIB, MIB]);
        let starts = |i: usize| {
            spaces[i]
                .offsets(0, 0, spaces[i].size(), MIB, None)
                .iter()
                .map(|o| o / MIB)
                .collect::<Vec<_>>()
        };
        assert_eq!(starts(0), [0, 1, 3, 4, 6, 7]);
        assert_eq!(starts(1), [2, 5, 8]);
    }

    #[test]
    fn runs_shrink_to_half_the_extent_when_legs_are_longer() {
        let mut plan = plan(&[Rw::Read, Rw::Write]);
        (plan.extent, plan.block) = (Bytes(10 * MIB), Bytes(MIB));
        let spaces = spaces(&plan, &[100 * MIB, 100 * MIB]);
        assert_eq!(
            spaces
                .iter()
                .map(|s| (s.base / MIB, s.run / MIB, s.runs))
                .collect::<Vec<_>>(),
            [(0, 5, 1), (5, 5, 1)]
        );
    }

    #[test]
    fn a_walk_goes_on_where_it_stopped_and_begins_again_at_the_end() {
        let space = Space {
            file: 0,
            base: 0,
            per_worker: 0,
            run: 3,
            stride: 3,
            runs: 1,
        };
        assert_eq!(space.offsets(0, 0, 2, 1, None), [0, 1]);
        assert_eq!(space.offsets(0, 2, 3, 1, None), [2, 0, 1]);
    }

    #[test]
    fn random_offsets_repeat_none_before_all_were_used() {
        let space = Space {
            file: 0,
            base: 4096,
            per_worker: 0,
            run: 4096 * 100,
            stride: 4096 * 200,
            runs: 10,
        };
        let all = space.offsets(0, 0, space.size(), 4096, Some(1));
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), 1000);
        assert!(
            all.iter().all(|o| (o - 4096) / (4096 * 100) % 2 == 0),
            "outside the runs"
        );
        let sorted = all.windows(2).filter(|w| w[0] < w[1]).count();
        assert!(
            (400..600).contains(&sorted),
            "not shuffled: {sorted} of 999 ascend"
        );
        // In two pieces the walk is the same, and the next pass has another order.
        let half = space.size() / 2;
        let pieces = [
            space.offsets(0, 0, half, 4096, Some(1)),
            space.offsets(0, half, half, 4096, Some(1)),
        ]
        .concat();
        assert_eq!(pieces, all);
        assert_ne!(
            space.offsets(0, space.size(), space.size(), 4096, Some(1)),
            all
        );
        assert_ne!(space.offsets(0, 0, space.size(), 4096, Some(2)), all);
    }

    #[test]
    fn a_permutation_is_one_for_every_size() {
        for n in (1..70).chain([1000, 4097]) {
            let order = Permutation::new(n, 5);
            let image: HashSet<u64> = (0..n).map(|i| order.at(i)).collect();
            assert!(
                image.len() as u64 == n && image.iter().all(|x| *x < n),
                "size {n}"
            );
        }
    }

    #[test]
    fn two_files_share_the_extent_evenly() {
        let mut plan = plan(&[Rw::Read, Rw::Write]);
        (plan.two_files, plan.extent, plan.block) = (true, Bytes(10 * MIB), Bytes(MIB));
        let spaces = spaces(&plan, &[MIB, MIB]);
        assert_eq!(
            spaces
                .iter()
                .map(|s| (s.file, s.size()))
                .collect::<Vec<_>>(),
            [(0, 5 * MIB), (1, 5 * MIB)]
        );
        assert_eq!(file_sizes(&plan), [5 * MIB, 5 * MIB]);
    }

    #[test]
    fn the_reuse_distance_counts_the_traffic_of_both_legs() {
        let mut plan = plan(&[Rw::Read, Rw::Write]);
        (plan.extent, plan.block) = (Bytes(100 * MIB), Bytes(MIB));
        let distance = |legs: [u64; 2]| reuse_distance(&plan, &spaces(&plan, &legs), &legs);
        // Five runs of 10 MiB are read once in five rounds of 20 MiB.
        assert_eq!(distance([10 * MIB, 10 * MIB]), Some(Bytes(100 * MIB)));
        // A leg that walks its half more than once rereads within itself.
        assert_eq!(distance([200 * MIB, 10 * MIB]), Some(Bytes(50 * MIB)));
        let write = self::plan(&[Rw::Write]);
        assert_eq!(
            reuse_distance(&write, &spaces(&write, &[MIB]), &[MIB]),
            None
        );
    }

    #[test]
    fn of_each_four_rounds_two_are_turned_and_the_seed_decides_which() {
        let order = |seed| (0..40).map(|i| turned(seed, i)).collect::<Vec<_>>();
        for seed in 0..50 {
            assert!(
                order(seed)
                    .chunks(4)
                    .all(|c| c.iter().filter(|t| **t).count() == 2)
            );
        }
        assert_eq!(order(3), order(3));
        assert_ne!(order(3), order(4));
        let first: HashSet<_> = (0..200).map(|seed| order(seed)[..4].to_vec()).collect();
        assert_eq!(first.len(), 6, "not every arrangement occurs");
    }
}
