//! No I/O: what the harness itself costs for each request, stamps and clock included.

use std::fs::File;

use super::buffer::Pool;
use super::tally::Tally;
use super::worker::{Engine, Work};
use crate::sample::MeasureError;
use crate::suite::Direction;

pub(super) struct Null;

impl Engine for Null {
    fn ready(&mut self, _: Option<&File>, _: &mut Pool) -> Result<(), MeasureError> {
        Ok(())
    }

    fn go(
        &mut self,
        work: &Work<'_>,
        pool: &mut Pool,
        tally: &mut Tally,
    ) -> Result<(), MeasureError> {
        let mut before = work.clock.now();
        tally.begin(before);
        for (turn, &offset) in work.offsets.iter().enumerate() {
            if work.over(before) {
                break;
            }
            let place = pool.place(0, turn);
            let buffer = match work.direction {
                Direction::Read => pool.buffer(place),
                Direction::Write => pool.stamped(place, offset, work.generation),
            };
            std::hint::black_box(buffer);
            let now = work.clock.now();
            tally.done(before, now, work.block as u64);
            before = now;
        }
        Ok(())
    }
}
