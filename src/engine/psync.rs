//! pread and pwrite, one request at a time.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::buffer::Pool;
use super::tally::Tally;
use super::worker::{Engine, Work};
use crate::sample::MeasureError;
use crate::suite::Direction;

pub(super) struct Psync;

impl Engine for Psync {
    fn ready(&mut self, _: Option<&File>, _: &mut Pool) -> Result<(), MeasureError> {
        Ok(())
    }

    /// The end of one request is the start of the next: one reading of the clock each.
    fn go(
        &mut self,
        work: &Work<'_>,
        pool: &mut Pool,
        tally: &mut Tally,
    ) -> Result<(), MeasureError> {
        let Some(file) = work.file else {
            return Err(MeasureError::Unavailable("psync needs a file".to_owned()));
        };
        let mut before = work.clock.now();
        tally.begin(before);
        for (turn, &offset) in work.offsets.iter().enumerate() {
            if work.over(before) {
                break;
            }
            let place = pool.place(0, turn);
            let got = match work.direction {
                Direction::Read => retry(|| file.read_at(pool.buffer(place), offset)),
                Direction::Write => {
                    let buffer = pool.stamped(place, offset, work.generation);
                    retry(|| file.write_at(buffer, offset))
                }
            };
            let now = work.clock.now();
            whole(work.op(), offset, work.block, got)?;
            tally.done(before, now, work.block as u64);
            before = now;
        }
        Ok(())
    }
}

/// A signal that came before any byte moved is no failure of the disk.
pub(super) fn retry(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// All bytes or an error with the offset.
pub(super) fn whole(
    op: &'static str,
    offset: u64,
    wanted: usize,
    got: io::Result<usize>,
) -> Result<(), MeasureError> {
    match got {
        Ok(got) if got == wanted => Ok(()),
        Ok(got) => Err(MeasureError::Short {
            op,
            offset,
            got: got as u64,
            wanted: wanted as u64,
        }),
        Err(source) => Err(MeasureError::Io {
            op,
            offset,
            len: wanted as u64,
            source,
        }),
    }
}
