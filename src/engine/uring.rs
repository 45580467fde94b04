//! io_uring: one ring per worker, registered buffers and file, submission and reaping in batches.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

use io_uring::types::{Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, squeue};
use nix::libc;
use rustix::io::Errno;

use super::buffer::Pool;
use super::psync::whole;
use super::tally::Tally;
use super::worker::{Engine, Work};
use crate::sample::MeasureError;
use crate::suite::Direction;

/// The setting that forbids io_uring, below the root of /proc.
const DISABLED: &str = "sys/kernel/io_uring_disabled";
/// A registered buffer holds at most this much.
const REGION: usize = 1 << 30;
/// A wait looks up this often, to see a signal that another thread caught.
const LOOK: Timespec = Timespec::new().nsec(100_000_000);

pub(super) struct Uring {
    ring: IoUring,
    depth: usize,
    /// Bytes of each registered region; `None` before the first leg, and with the reason where memory could not be.
    buffers: Option<Result<usize, String>>,
    file_registered: bool,
}

/// A request slot: what is in flight under it.
#[derive(Clone, Copy, Default)]
struct Lane {
    issued: u64,
    offset: u64,
    turn: usize,
}

impl Uring {
    pub(super) fn new(depth: u32) -> Result<Self, MeasureError> {
        let ring = make_ring(depth);
        let ring = ring.map_err(|source| MeasureError::Setup {
            what: "set up an io_uring".to_owned(),
            source,
        })?;
        Ok(Self {
            ring,
            depth: depth as usize,
            buffers: None,
            file_registered: false,
        })
    }

    /// Tells the kernel of the pool once. A memory limit (RLIMIT_MEMLOCK) that is too low is noted, not fatal: requests
    /// then name plain memory.
    fn register_buffers(&mut self, pool: &mut Pool, block: usize) {
        let region = (REGION / block).max(1) * block;
        let parts = pool.all().chunks_mut(region);
        let parts: Vec<libc::iovec> = parts
            .map(|part| libc::iovec {
                iov_base: part.as_mut_ptr().cast(),
                iov_len: part.len(),
            })
            .collect();
        // SAFETY: the pool lives beside this engine in `Worker` and is dropped after it, and its memory never moves.
        let registered = unsafe { self.ring.submitter().register_buffers(&parts) };
        self.buffers = Some(match registered {
            Ok(()) => Ok(region),
            Err(e) => Err(format!(
                "io_uring buffers are not registered: {e} (raise RLIMIT_MEMLOCK)"
            )),
        });
    }

    fn entry(
        &self,
        lane: usize,
        direction: Direction,
        buffer: &mut [u8],
        place: usize,
        offset: u64,
    ) -> squeue::Entry {
        let length = buffer.len() as u32;
        let file = Fixed(0);
        let entry = match (&self.buffers, direction) {
            (Some(Ok(region)), Direction::Read) => {
                let index = (place / region) as u16;
                opcode::ReadFixed::new(file, buffer.as_mut_ptr(), length, index)
                    .offset(offset)
                    .build()
            }
            (Some(Ok(region)), Direction::Write) => {
                let index = (place / region) as u16;
                opcode::WriteFixed::new(file, buffer.as_ptr(), length, index)
                    .offset(offset)
                    .build()
            }
            (_, Direction::Read) => opcode::Read::new(file, buffer.as_mut_ptr(), length)
                .offset(offset)
                .build(),
            (_, Direction::Write) => opcode::Write::new(file, buffer.as_ptr(), length)
                .offset(offset)
                .build(),
        };
        entry.user_data(lane as u64)
    }

    /// Submits what is queued and waits for one completion; a wake-up without one is fine.
    fn enter(&mut self) -> io::Result<()> {
        let entered = self
            .ring
            .submitter()
            .submit_with_args(1, &SubmitArgs::new().timespec(&LOOK));
        match entered {
            Ok(_) => Ok(()),
            Err(e) => match Errno::from_io_error(&e) {
                Some(Errno::TIME | Errno::INTR | Errno::AGAIN | Errno::BUSY) => Ok(()),
                _ => Err(e),
            },
        }
    }

    /// Keeps `depth` requests in flight until the work is over, then waits for the last.
    fn drive(
        &mut self,
        work: &Work<'_>,
        pool: &mut Pool,
        tally: &mut Tally,
    ) -> Result<(), MeasureError> {
        let mut lanes = vec![Lane::default(); self.depth];
        let mut free: Vec<usize> = (0..self.depth).rev().collect();
        let mut offsets = work.offsets.iter();
        let mut failure = None;
        let mut now = work.clock.now();
        tally.begin(now);
        loop {
            let over = failure.is_some() || work.over(now);
            while let Some(&lane) = free.last().filter(|_| !over) {
                let Some(&offset) = offsets.next() else { break };
                let slot = &mut lanes[lane];
                (slot.issued, slot.offset) = (now, offset);
                let place = pool.place(lane, slot.turn);
                slot.turn += 1;
                let buffer = match work.direction {
                    Direction::Read => pool.buffer(place),
                    Direction::Write => pool.stamped(place, offset, work.generation),
                };
                let entry = self.entry(lane, work.direction, buffer, place, offset);
                // SAFETY: the buffer is a lane's own place in the pool, handed out again only after this lane's
                // completion; this function returns only when nothing is in flight.
                if unsafe { self.ring.submission().push(&entry) }.is_err() {
                    unreachable!("the queue holds `depth` entries and as many lanes exist");
                }
                free.pop();
            }
            if free.len() == self.depth {
                return failure.map_or(Ok(()), Err);
            }
            if let Err(source) = self.enter() {
                let error = MeasureError::Io {
                    op: work.op(),
                    offset: 0,
                    len: 0,
                    source,
                };
                self.abandon(self.depth - free.len());
                return Err(failure.unwrap_or(error));
            }
            now = work.clock.now();
            for completion in self.ring.completion() {
                let lane = completion.user_data() as usize;
                free.push(lane);
                let Lane { issued, offset, .. } = lanes[lane];
                match whole(work.op(), offset, work.block, outcome(completion.result())) {
                    Ok(()) => tally.done(issued, now, work.block as u64),
                    Err(error) => failure = failure.or(Some(error)),
                }
            }
        }
    }

    /// The kernel no longer lets us in: waits for what it already took, since it still owns those buffers.
    fn abandon(&mut self, pushed: usize) {
        let queued = self.ring.submission().len();
        let mut in_flight = pushed.saturating_sub(queued);
        while in_flight > 0 {
            std::thread::sleep(std::time::Duration::from_millis(1));
            in_flight = in_flight.saturating_sub(self.ring.completion().count());
        }
    }
}

impl Engine for Uring {
    fn ready(&mut self, file: Option<&File>, pool: &mut Pool) -> Result<(), MeasureError> {
        let Some(file) = file else {
            return Err(MeasureError::Unavailable(
                "io_uring needs a file".to_owned(),
            ));
        };
        if self.buffers.is_none() {
            let block = pool.block();
            self.register_buffers(pool, block);
        }
        let files = [file.as_raw_fd()];
        let registered = if self.file_registered {
            self.ring
                .submitter()
                .register_files_update(0, &files)
                .map(drop)
        } else {
            self.ring.submitter().register_files(&files)
        };
        self.file_registered |= registered.is_ok();
        registered.map_err(|source| MeasureError::Setup {
            what: "register the file with io_uring".to_owned(),
            source,
        })
    }

    fn go(
        &mut self,
        work: &Work<'_>,
        pool: &mut Pool,
        tally: &mut Tally,
    ) -> Result<(), MeasureError> {
        self.drive(work, pool, tally)
    }

    fn note(&self) -> Option<String> {
        self.buffers
            .as_ref()
            .and_then(|b| b.as_ref().err())
            .cloned()
    }
}

impl Drop for Uring {
    /// Releases file and memory now: a closed ring alone is torn down later, and the mount would stay busy.
    fn drop(&mut self) {
        if self.file_registered {
            let _ = self.ring.submitter().unregister_files();
        }
        if matches!(self.buffers, Some(Ok(_))) {
            let _ = self.ring.submitter().unregister_buffers();
        }
    }
}

fn outcome(result: i32) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::from_raw_os_error(-result))
}

/// A ring whose completions do not interrupt the worker, where the kernel has that (5.19).
fn make_ring(entries: u32) -> io::Result<IoUring> {
    match IoUring::builder().setup_coop_taskrun().build(entries) {
        Err(e) if Errno::from_io_error(&e) == Some(Errno::INVAL) => IoUring::new(entries),
        other => other,
    }
}

/// Whether io_uring can be used here; if not, why, as far as the kernel tells.
pub(super) fn probe(proc: &Path) -> Result<(), String> {
    match make_ring(1) {
        Ok(ring) if ring.params().is_feature_ext_arg() => Ok(()),
        Ok(_) => Err(
            "io_uring here cannot wait with a time limit; Linux 5.11 or later is needed".to_owned(),
        ),
        Err(e) => Err(explain(
            &e,
            std::fs::read_to_string(proc.join(DISABLED))
                .ok()
                .as_deref()
                .map(str::trim),
        )),
    }
}

fn explain(error: &io::Error, disabled: Option<&str>) -> String {
    match (Errno::from_io_error(error), disabled) {
        (Some(Errno::PERM), Some("2")) => {
            "io_uring is switched off: kernel.io_uring_disabled = 2; set it to 0".to_owned()
        }
        (Some(Errno::PERM), Some("1")) => "io_uring is switched off for this user: kernel.io_uring_disabled = 1 lets only \
             privileged processes and the group kernel.io_uring_group use it"
            .to_owned(),
        (Some(Errno::PERM), _) => "io_uring is forbidden by a sandbox (io_uring_setup: EPERM); a container needs a seccomp \
             profile that allows it"
            .to_owned(),
        (Some(Errno::NOSYS), _) => {
            "io_uring is missing: this kernel was built without it or a sandbox hides it (io_uring_setup: ENOSYS)".to_owned()
        }
        (Some(Errno::NOMEM), _) => {
            "io_uring could not lock the memory of a ring (io_uring_setup: ENOMEM); raise RLIMIT_MEMLOCK".to_owned()
        }
        _ => format!("io_uring could not be set up: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_setting_or_the_sandbox() {
        let eperm = io::Error::from_raw_os_error(libc::EPERM);
        let enosys = io::Error::from_raw_os_error(libc::ENOSYS);
        let cases = [
            (&eperm, Some("2"), "kernel.io_uring_disabled = 2"),
            (&eperm, Some("1"), "kernel.io_uring_group"),
            (&eperm, Some("0"), "seccomp"),
            (&eperm, None, "seccomp"),
            (&enosys, Some("0"), "ENOSYS"),
        ];
        for (error, disabled, word) in cases {
            assert!(explain(error, disabled).contains(word), "{word}");
        }
    }

    #[test]
    fn a_negative_result_is_its_errno_and_others_are_bytes() {
        assert_eq!(outcome(4096).unwrap(), 4096);
        assert_eq!(outcome(0).unwrap(), 0);
        assert_eq!(
            outcome(-libc::EIO).unwrap_err().raw_os_error(),
            Some(libc::EIO)
        );
    }
}
