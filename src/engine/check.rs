//! What the counters say about a leg: whether the bytes came from the disk, and whether the disk was ours alone.
//!
//! Pure. Every limit is blind to speed. A counter that is absent or stands still never reads as fine: it is a note.

use crate::sample::OWN_SHARE;
use crate::suite::Direction;
use crate::units::{Bytes, MIB};

/// Foreign share that voids a round.
const FOREIGN_SHARE: f64 = 0.02;
/// Foreign bytes that are always borne, in the leg's direction.
const FOREIGN_SAME: u64 = MIB;
/// The same in the other direction, where file systems write their journals.
const FOREIGN_OTHER: u64 = 4 * MIB;
/// Bytes beyond those asked for that are always borne: a cold buffered read was seen to fetch 4 to 6 MiB more.
const AHEAD_FLOOR: u64 = 8 * MIB;
/// Share of CPU time the hypervisor may take.
const STEAL: f64 = 0.05;

/// What a leg moved according to everyone who counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counted {
    pub(crate) direction: Direction,
    /// Bytes the system calls returned, of all workers until the last ended.
    pub(crate) moved: Bytes,
    pub(crate) own: Option<Bytes>,
    pub(crate) device: Option<Bytes>,
    pub(crate) device_other: Option<Bytes>,
    pub(crate) own_other: Option<Bytes>,
    /// Bytes beyond those asked for that read-ahead may fetch.
    pub(crate) read_ahead: Bytes,
    /// Bytes the device moves for each of ours in the leg's direction: 1 plain, 2 on a mirror, …
    pub(crate) amp: f64,
}

/// What follows from it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Finding {
    /// The numbers are not the disk's: a sentence with the share.
    pub(crate) not_the_disk: Option<String>,
    /// Somebody else used the disk.
    pub(crate) void: Option<String>,
    /// What could not be told, once a session.
    pub(crate) notes: Vec<String>,
}

/// Judges one leg.
pub(crate) fn leg(counted: &Counted) -> Finding {
    let mut finding = Finding::default();
    own(counted, &mut finding);
    foreign(counted, &mut finding);
    finding
}

fn own(c: &Counted, finding: &mut Finding) {
    let Some(own) = c.own else {
        finding.notes.push("the kernel keeps no I/O account of this process: nothing tells reads of the disk from reads of memory".into());
        return;
    };
    if c.direction == Direction::Write {
        return;
    }
    let asked = c.moved.0 as f64;
    let short = (own.0 as f64) < asked * OWN_SHARE;
    // Without a block device below (FUSE, NFS, ZFS) the account stays at zero whatever happens.
    if short && c.device.is_some() {
        finding.not_the_disk = Some(format!(
            "{} were read and only {} crossed the block layer: {:.0} % came from memory or holes",
            c.moved,
            own,
            (1.0 - own.0 as f64 / asked) * 100.0
        ));
    } else if short {
        finding.notes.push("no block device is known below and this process's account shows fewer bytes than were read: unproven".into());
    }
    if own.0 > c.moved.0 + c.read_ahead.0.max(AHEAD_FLOOR) {
        finding
            .notes
            .push("the kernel read more than was asked for and than read-ahead explains".into());
    }
}

fn foreign(c: &Counted, finding: &mut Finding) {
    let Some(device) = c.device else {
        finding
            .notes
            .push("no device counters: foreign traffic cannot be told".into());
        return;
    };
    let own = c.own.unwrap_or(c.moved);
    if device.0 == 0 && own.0 > 0 {
        finding.notes.push("the device's counters stand still (queue/iostats = 0?): foreign traffic cannot be told".into());
        return;
    }
    let limit = |floor: u64| (c.moved.0 as f64 * FOREIGN_SHARE).max(floor as f64);
    let same = (device.0 as f64 / c.amp - own.0 as f64).abs();
    let own_other = c.own_other.map_or(0.0, |b| b.0 as f64);
    let other = c
        .device_other
        .map_or(0.0, |b| (b.0 as f64 - own_other).abs());
    let found = if same > limit(FOREIGN_SAME) {
        Some((same, c.direction))
    } else if other > limit(FOREIGN_OTHER) {
        Some((other, opposite(c.direction)))
    } else {
        None
    };
    finding.void = found.map(|(bytes, direction)| {
        let verb = if direction == Direction::Read {
            "read"
        } else {
            "written"
        };
        format!(
            "{} {verb} by others during the {} leg",
            Bytes(bytes as u64),
            c.direction
        )
    });
}

/// Ticks of steal below which a share of them says nothing: the kernel counts in whole ticks of 10 ms, and a round of
/// short legs lasts a few of them.
const LEAST_STEAL: u64 = 10;

/// Whether the hypervisor took so much between two readings that a round is void.
pub(crate) fn is_stolen(before: Option<(u64, u64)>, after: Option<(u64, u64)>) -> bool {
    let ticks = before
        .zip(after)
        .map_or(0, |(b, a)| a.0.saturating_sub(b.0));
    ticks >= LEAST_STEAL && steal(before, after).is_some_and(|share| share > STEAL)
}

/// Share of CPU time stolen between two readings, where the kernel tells and time passed.
pub(crate) fn steal(before: Option<(u64, u64)>, after: Option<(u64, u64)>) -> Option<f64> {
    let (before, after) = (before?, after?);
    let all = after.1.checked_sub(before.1).filter(|all| *all > 0)?;
    Some(after.0.saturating_sub(before.0) as f64 / all as f64)
}

pub(crate) fn opposite(direction: Direction) -> Direction {
    match direction {
        Direction::Read => Direction::Write,
        Direction::Write => Direction::Read,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(direction: Direction) -> Counted {
        Counted {
            direction,
            moved: Bytes(1000 * MIB),
            own: Some(Bytes(1000 * MIB)),
            device: Some(Bytes(1000 * MIB)),
            device_other: Some(Bytes(0)),
            own_other: Some(Bytes(0)),
            read_ahead: Bytes(0),
            amp: 1.0,
        }
    }

    #[test]
    fn a_leg_alone_on_its_disk_raises_nothing() {
        for direction in [Direction::Read, Direction::Write] {
            assert_eq!(leg(&counted(direction)), Finding::default());
        }
    }

    #[test]
    fn reads_from_memory_are_not_the_disk_and_the_share_is_named() {
        let c = Counted {
            own: Some(Bytes(630 * MIB)),
            device: Some(Bytes(630 * MIB)),
            ..counted(Direction::Read)
        };
        let why = leg(&c).not_the_disk.unwrap();
        assert!(
            why.contains("1000 MiB were read and only 630 MiB")
                && why.contains("37 % came from memory"),
            "{why}"
        );
        let edge = |own| {
            leg(&Counted {
                own: Some(Bytes(own)),
                ..counted(Direction::Read)
            })
            .not_the_disk
        };
        assert_eq!(edge(980 * MIB), None);
        assert!(edge(979 * MIB).is_some());
    }

    #[test]
    fn without_a_device_a_short_account_is_unproven_and_not_blamed() {
        let c = Counted {
            own: Some(Bytes(0)),
            device: None,
            ..counted(Direction::Read)
        };
        let finding = leg(&c);
        assert_eq!((finding.not_the_disk, finding.void), (None, None));
        assert!(
            finding.notes.iter().any(|n| n.contains("unproven")),
            "{:?}",
            finding.notes
        );
    }

    #[test]
    fn foreign_traffic_voids_above_its_limit_in_either_direction() {
        let same = |mib| {
            leg(&Counted {
                device: Some(Bytes(mib * MIB)),
                ..counted(Direction::Read)
            })
            .void
        };
        assert_eq!(same(1020), None);
        assert_eq!(
            same(1021).unwrap(),
            "21 MiB read by others during the read leg"
        );
        assert!(
            same(979).is_some(),
            "missing bytes are as strange as extra ones"
        );
        let other = |mib| {
            leg(&Counted {
                device_other: Some(Bytes(mib * MIB)),
                ..counted(Direction::Read)
            })
            .void
        };
        assert_eq!(other(20), None);
        assert_eq!(
            other(21).unwrap(),
            "21 MiB written by others during the read leg"
        );
    }

    #[test]
    fn small_legs_bear_a_journal() {
        let small = Counted {
            moved: Bytes(MIB),
            own: Some(Bytes(MIB)),
            device: Some(Bytes(2 * MIB)),
            ..counted(Direction::Write)
        };
        assert_eq!(leg(&small).void, None);
        assert!(
            leg(&Counted {
                device: Some(Bytes(2 * MIB + 4096)),
                ..small
            })
            .void
            .is_some()
        );
        assert_eq!(
            leg(&Counted {
                device_other: Some(Bytes(4 * MIB)),
                ..small
            })
            .void,
            None
        );
        assert!(
            leg(&Counted {
                device_other: Some(Bytes(4 * MIB + 1)),
                ..small
            })
            .void
            .is_some()
        );
    }

    #[test]
    fn a_mirror_that_writes_twice_is_alone() {
        let c = Counted {
            device: Some(Bytes(2000 * MIB)),
            ..counted(Direction::Write)
        };
        assert!(leg(&c).void.is_some());
        assert_eq!(leg(&Counted { amp: 2.0, ..c }).void, None);
    }

    #[test]
    fn absent_and_frozen_counters_are_notes_and_never_fine() {
        let blind = leg(&Counted {
            own: None,
            device: None,
            ..counted(Direction::Read)
        });
        assert_eq!(blind.notes.len(), 2);
        let frozen = leg(&Counted {
            device: Some(Bytes(0)),
            ..counted(Direction::Read)
        });
        assert!(
            frozen.void.is_none() && frozen.notes[0].contains("stand still"),
            "{frozen:?}"
        );
    }

    #[test]
    fn read_ahead_explains_what_it_may_fetch() {
        let ahead = |own, read_ahead| {
            leg(&Counted {
                own: Some(Bytes(own)),
                device: Some(Bytes(own)),
                read_ahead: Bytes(read_ahead),
                ..counted(Direction::Read)
            })
            .notes
        };
        assert!(ahead(1008 * MIB, 0).is_empty());
        assert_eq!(ahead(1009 * MIB, 0).len(), 1);
        assert!(ahead(1016 * MIB, 16 * MIB).is_empty());
        assert_eq!(ahead(1017 * MIB, 16 * MIB).len(), 1);
    }

    #[test]
    fn steal_is_a_share_of_the_time_that_passed() {
        assert_eq!(steal(Some((10, 100)), Some((20, 200))), Some(0.1));
        assert_eq!(steal(Some((10, 100)), Some((10, 100))), None);
        assert_eq!(steal(None, Some((10, 100))), None);
    }

    #[test]
    fn a_few_ticks_of_steal_void_no_short_round() {
        assert!(!is_stolen(Some((0, 0)), Some((9, 20))));
        assert!(is_stolen(Some((0, 0)), Some((10, 199))));
        assert!(!is_stolen(Some((0, 0)), Some((10, 200))));
        assert!(!is_stolen(None, Some((10, 20))));
    }

    #[test]
    fn a_small_leg_bears_read_ahead_and_a_commit_of_the_journal() {
        for read_ahead_kb in [128, 1024, 8192] {
            // One worker fetched twice the read-ahead beyond its 4 MiB, and a commit of 200 KiB fell into the leg.
            let ahead = 2 * read_ahead_kb * 1024;
            let read = Counted {
                moved: Bytes(4 * MIB),
                own: Some(Bytes(4 * MIB + ahead)),
                device: Some(Bytes(4 * MIB + ahead)),
                device_other: Some(Bytes(200 * 1024)),
                read_ahead: Bytes(ahead),
                ..counted(Direction::Read)
            };
            assert_eq!(leg(&read), Finding::default(), "{read_ahead_kb} KiB");
        }
        let write = |journal| Counted {
            moved: Bytes(4 * MIB),
            own: Some(Bytes(4 * MIB)),
            device: Some(Bytes(4 * MIB + journal)),
            ..counted(Direction::Write)
        };
        assert_eq!(leg(&write(MIB)), Finding::default());
        assert!(leg(&write(MIB + 4096)).void.is_some());
    }
}
