//! The memory requests read into and write from: aligned, touched, filled before the clock, never of one block only.

use super::runs::mix;
use crate::plan::DataPlan;
use crate::units::{KIB, MIB};

/// Least size of a pool. A smaller one would sit in the CPU's cache, and in that of a drive that looks for repeats.
const LEAST: u64 = 16 * MIB;
/// Every so many bytes carry a stamp.
pub(super) const STAMP_EVERY: usize = 4096;
/// Zeros of `DataPlan::ZeroTail` lie at the end of each so many bytes, or of each smaller block.
const TAIL_EVERY: usize = 4 * KIB as usize;
/// Low bits of an offset, which are zero in every stamped place, carry the generation.
const GENERATION_BITS: u32 = 9;

/// A worker's buffers: one for each request in flight, each walking its own slots of the pool, so that no buffer is
/// handed out twice at once.
pub(super) struct Pool {
    memory: Vec<u8>,
    skip: usize,
    block: usize,
    lanes: usize,
    turns: usize,
    /// Whether stamps are written; zeros stay zeros.
    stamped: bool,
}

impl Pool {
    /// Memory for `lanes` requests of `block` bytes at once, aligned to `align` (a power of two), filled from `seed`.
    pub(super) fn new(block: u64, lanes: u32, align: u64, data: DataPlan, seed: u64) -> Self {
        let (block, lanes, align) = (block as usize, lanes as usize, align.max(4096) as usize);
        let turns = (LEAST as usize).div_ceil(block * lanes).max(1);
        let memory = vec![0u8; block * lanes * turns + align];
        let skip = memory.as_ptr().align_offset(align);
        let stamped = data != DataPlan::Zero;
        let mut pool = Self {
            memory,
            skip,
            block,
            lanes,
            turns,
            stamped,
        };
        pool.fill(data, seed);
        pool
    }

    /// Bytes such a pool takes.
    pub(super) fn bytes(block: u64, lanes: u32) -> u64 {
        let once = block.saturating_mul(u64::from(lanes)).max(1);
        once.saturating_mul(LEAST.div_ceil(once))
    }

    fn fill(&mut self, data: DataPlan, seed: u64) {
        let unit = TAIL_EVERY.min(self.block);
        let all = self.all();
        match data {
            // Written through a black box: an allocation of zeros would else stay untouched until the clock runs.
            DataPlan::Zero => std::hint::black_box(all).fill(0),
            DataPlan::Random => fastrand::Rng::with_seed(mix(seed)).fill(all),
            DataPlan::ZeroTail(zeros) => {
                fastrand::Rng::with_seed(mix(seed)).fill(all);
                for unit in all.chunks_mut(unit) {
                    let keep = unit.len().saturating_sub(zeros as usize);
                    unit[keep..].fill(0);
                }
            }
        }
    }

    /// Bytes of one buffer.
    pub(super) fn block(&self) -> usize {
        self.block
    }

    /// The whole pool, aligned.
    pub(super) fn all(&mut self) -> &mut [u8] {
        let length = self.block * self.lanes * self.turns;
        &mut self.memory[self.skip..self.skip + length]
    }

    /// Where in the pool lane `lane` finds its buffer the `turn`-th time, in bytes.
    pub(super) fn place(&self, lane: usize, turn: usize) -> usize {
        (turn % self.turns * self.lanes + lane) * self.block
    }

    /// The buffer at a place.
    pub(super) fn buffer(&mut self, place: usize) -> &mut [u8] {
        let start = self.skip + place;
        &mut self.memory[start..start + self.block]
    }

    /// The same, stamped with where it will be written and when. A stamp takes the place of data, so that blocks of
    /// one buffer differ; where a zero tail leaves it no room it is left out.
    pub(super) fn stamped(&mut self, place: usize, offset: u64, generation: u64) -> &mut [u8] {
        let stamped = self.stamped;
        let buffer = self.buffer(place);
        if stamped {
            for (i, unit) in buffer.chunks_mut(STAMP_EVERY).enumerate() {
                let stamp = stamp(offset + (i * STAMP_EVERY) as u64, generation);
                if let Some(place) = unit.first_chunk_mut::<8>() {
                    *place = stamp.to_le_bytes();
                }
            }
        }
        buffer
    }
}

/// Offset and, in its low bits, generation modulo 512.
pub(super) fn stamp(offset: u64, generation: u64) -> u64 {
    offset >> GENERATION_BITS << GENERATION_BITS | generation & ((1 << GENERATION_BITS) - 1)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_pool_is_aligned_and_at_least_sixteen_mebibytes() {
        for (block, lanes, align) in [
            (512, 1, 512),
            (4096, 32, 4096),
            (MIB, 8, 16384),
            (64 * MIB, 1, 4096),
        ] {
            let mut pool = Pool::new(block, lanes, align, DataPlan::Random, 1);
            assert!(pool.all().len() as u64 >= LEAST.max(block * u64::from(lanes)));
            assert!((pool.all().as_ptr() as u64).is_multiple_of(align.max(4096)));
        }
    }

    #[test]
    fn lanes_never_share_a_buffer() {
        let pool = Pool::new(MIB, 8, 4096, DataPlan::Zero, 1);
        let mut seen = HashSet::new();
        for lane in 0..8 {
            for turn in 0..2 {
                assert!(seen.insert(pool.place(lane, turn)));
            }
        }
        assert_eq!(
            pool.place(3, 2),
            pool.place(3, 0),
            "a lane walks its own slots again"
        );
    }

    #[test]
    fn data_is_what_the_plan_says() {
        let distinct = |pool: &mut Pool| pool.all().iter().collect::<HashSet<_>>().len();
        assert_eq!(
            distinct(&mut Pool::new(4096, 1, 4096, DataPlan::Zero, 1)),
            1
        );
        assert_eq!(
            distinct(&mut Pool::new(4096, 1, 4096, DataPlan::Random, 1)),
            256
        );
        let mut half = Pool::new(4096, 1, 4096, DataPlan::ZeroTail(2048), 1);
        let zeros = half.all().iter().filter(|b| **b == 0).count() as f64 / half.all().len() as f64;
        assert!((0.49..0.52).contains(&zeros), "{zeros}");
        let mut one = Pool::new(4096, 1, 4096, DataPlan::Random, 1);
        let mut same = Pool::new(4096, 1, 4096, DataPlan::Random, 1);
        let mut other = Pool::new(4096, 1, 4096, DataPlan::Random, 2);
        assert!(one.all() == same.all() && one.all() != other.all());
    }

    #[test]
    fn no_two_pages_of_a_random_pool_are_alike() {
        let mut pool = Pool::new(4096, 1, 4096, DataPlan::Random, 1);
        let pages: HashSet<&[u8]> = pool.all().chunks(4096).collect();
        assert_eq!(pages.len() as u64, 16 * MIB / 4096);
    }

    #[test]
    fn stamps_tell_offset_and_generation_and_leave_zeros_alone() {
        let mut pool = Pool::new(12288, 1, 4096, DataPlan::Random, 1);
        let buffer = pool.stamped(0, 40960, 3);
        let at = |i: usize| u64::from_le_bytes(buffer[i..i + 8].try_into().unwrap());
        assert_eq!(
            [at(0), at(4096), at(8192)],
            [stamp(40960, 3), stamp(45056, 3), stamp(49152, 3)]
        );
        assert_ne!(stamp(40960, 3), stamp(40960, 4));
        let mut zeros = Pool::new(4096, 1, 4096, DataPlan::Zero, 1);
        assert!(zeros.stamped(0, 40960, 3).iter().all(|b| *b == 0));
    }
}
