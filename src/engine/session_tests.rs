use std::sync::Arc;

use super::*;
use crate::engine::testing::{Kernel, SECOND, Virtual, World, plan, quiet};
use crate::sample::Fate;
use crate::suite::Rw;
use crate::units::{GIB, MIB};

fn measure(plan: &Plan, change: impl FnOnce(&mut World)) -> (Result<Session, MeasureError>, World) {
    let (mut disk, kernel): (Virtual, Kernel) = quiet(plan);
    let world = Arc::clone(&kernel.0);
    change(&mut world.lock().unwrap());
    let result = session(
        plan,
        &mut disk,
        &kernel,
        &Interrupt::new(),
        &Terms::first(plan),
    );
    let world = world.lock().unwrap().clone();
    (result, world)
}

fn pair() -> Plan {
    plan(&[Rw::Read, Rw::Write])
}

fn fates(session: &Session) -> (usize, usize, usize) {
    let count = |f: fn(&Fate) -> bool| session.rounds.iter().filter(|r| f(&r.fate)).count();
    (
        count(|f| *f == Fate::WarmUp),
        count(|f| *f == Fate::Kept),
        count(|f| matches!(f, Fate::Void(_))),
    )
}

fn fixed(legs: &[(u64, Option<u64>)]) -> Vec<FixedLeg> {
    let leg = |(bytes, took): &(u64, Option<u64>)| FixedLeg {
        bytes: Bytes(*bytes),
        took: took.map(Nanos),
    };
    legs.iter().map(leg).collect()
}

#[test]
fn a_quiet_disk_is_measured_at_its_rates() {
    let (session, world) = measure(&pair(), |_| ());
    let session = session.unwrap();
    assert_eq!(fates(&session), (2, 20, 0));
    for leg in session.rounds.iter().flat_map(|r| &r.legs) {
        let rate = leg.bytes.per(leg.settled_time()).0;
        let truth = if leg.direction == Direction::Read {
            400e6
        } else {
            200e6
        };
        assert!((rate / truth - 1.0).abs() < 0.01, "{rate}");
        assert_eq!(leg.own, Some(leg.bytes));
    }
    assert_eq!(session.flush_cost, Some(Nanos(1_000_000)));
    assert_eq!(session.notes, Vec::<String>::new());
    assert_eq!(
        session
            .latency
            .iter()
            .map(|l| l.direction)
            .collect::<Vec<_>>(),
        [Direction::Read, Direction::Write]
    );
    assert_eq!(world.laid[0], (0, 0..GIB));
}

#[test]
fn open_legs_get_the_bytes_of_their_aim() {
    let (session, _) = measure(&pair(), |_| ());
    let session = session.unwrap();
    let seconds = |i: usize, rate: f64| session.leg_bytes[i].0 as f64 / rate;
    assert!(
        (0.95..1.05).contains(&seconds(0, 400e6)),
        "{:?}",
        session.leg_bytes
    );
    assert!(
        (0.95..1.05).contains(&seconds(1, 200e6)),
        "{:?}",
        session.leg_bytes
    );
    assert!(session.leg_bytes.iter().all(|b| b.0.is_multiple_of(MIB)));
    assert_eq!(
        session.workload["leg.read"],
        crate::plan::exact(session.leg_bytes[0].0)
    );
}

#[test]
fn a_slow_disk_still_gets_fifty_requests() {
    let (session, _) = measure(&plan(&[Rw::Read]), |w| w.read_rate = 20e6);
    assert_eq!(session.unwrap().leg_bytes, [Bytes(50 * MIB)]);
}

#[test]
fn bytes_found_by_an_earlier_session_are_used_without_sizing() {
    let plan = pair();
    let (mut disk, kernel) = quiet(&plan);
    let terms = Terms {
        fixed: Some(fixed(&[(64 * MIB, None), (32 * MIB, None)])),
        ..Terms::first(&plan)
    };
    let session = session(&plan, &mut disk, &kernel, &Interrupt::new(), &terms).unwrap();
    assert_eq!(session.leg_bytes, [Bytes(64 * MIB), Bytes(32 * MIB)]);
    let world = kernel.0.lock().unwrap();
    assert_eq!(world.legs.len(), 2 * session.rounds.len());
    assert!(world.legs.iter().all(|l| l.bytes
        == if l.direction == Direction::Read {
            64 * MIB
        } else {
            32 * MIB
        }));
}

#[test]
fn what_is_read_was_never_rewritten_since_its_layout() {
    let (session, world) = measure(&pair(), |_| ());
    let sizing = world.legs.len() - 2 * session.unwrap().rounds.len();
    assert!(sizing > 2, "no sizing legs");
    let touched =
        |direction: Direction, legs: &[crate::engine::LegSpec]| -> std::collections::HashSet<u64> {
            let legs = legs.iter().filter(|l| l.direction == direction);
            legs.flat_map(|l| l.space.offsets(0, l.from, l.bytes, MIB, None))
                .collect()
        };
    let (before, after) = world.legs.split_at(sizing);
    let read = touched(Direction::Read, after);
    assert!(read.is_disjoint(&touched(Direction::Write, after)));
    // Whatever sizing wrote where reads lie now was laid out again.
    let mended: Vec<_> = world.laid[1..]
        .iter()
        .map(|(_, part)| part.clone())
        .collect();
    for offset in touched(Direction::Write, before).intersection(&read) {
        assert!(
            mended.iter().any(|part| part.contains(offset)),
            "{offset} was rewritten and not mended: {mended:?}"
        );
    }
}

#[test]
fn orders_are_balanced_among_the_kept_rounds() {
    let (session, _) = measure(&pair(), |w| {
        w.foreign = |leg| if leg % 13 == 0 { 100 * MIB } else { 0 }
    });
    let session = session.unwrap();
    let kept: Vec<_> = session
        .rounds
        .iter()
        .filter(|r| r.fate == Fate::Kept)
        .collect();
    let (_, _, void) = fates(&session);
    assert!(void > 0 && kept.len() == 20);
    for four in kept.chunks(4) {
        let read_first = four
            .iter()
            .filter(|r| r.legs[0].direction == Direction::Read)
            .count();
        assert_eq!(read_first, 2);
    }
}

#[test]
fn disturbed_rounds_are_repeated_and_say_by_whom() {
    let (session, _) = measure(&pair(), |w| {
        w.foreign = |leg| if leg % 20 == 0 { 100 * MIB } else { 0 }
    });
    let session = session.unwrap();
    let (_, kept, void) = fates(&session);
    assert_eq!(kept, 20);
    let why = session
        .rounds
        .iter()
        .find_map(|r| {
            if let Fate::Void(why) = &r.fate {
                Some(why)
            } else {
                None
            }
        })
        .unwrap();
    assert!(
        why.contains("100 MiB read by others during the read leg"),
        "{why}"
    );
    assert_eq!(
        session.notes,
        [format!(
            "{void} of {} rounds were disturbed and repeated",
            20 + void
        )]
    );
}

#[test]
fn more_than_a_quarter_void_is_no_measurement() {
    let (result, world) = measure(&pair(), |w| w.foreign = |_| 100 * MIB);
    assert!(
        matches!(&result, Err(MeasureError::Disturbed(why)) if why.starts_with("7 of 7 rounds")),
        "{result:?}"
    );
    assert!(
        world.legs.len() < 60,
        "it went on for {} legs",
        world.legs.len()
    );
}

#[test]
fn stolen_cpu_voids() {
    let (result, _) = measure(&pair(), |w| w.stolen = 6);
    assert!(
        matches!(&result, Err(MeasureError::Disturbed(why)) if why.contains("hypervisor")),
        "{result:?}"
    );
    let (result, _) = measure(&pair(), |w| w.stolen = 4);
    assert!(result.is_ok());
}

#[test]
fn a_disk_that_never_rests_voids_its_rounds() {
    let (result, _) = measure(&pair(), |w| w.restless = true);
    assert!(
        matches!(&result, Err(MeasureError::Disturbed(why)) if why.contains("did not end")),
        "{result:?}"
    );
}

#[test]
fn requests_that_never_return_void_rounds_instead_of_hanging() {
    let (result, world) = measure(&pair(), |w| w.stuck = 1);
    assert!(
        matches!(&result, Err(MeasureError::Disturbed(why)) if why.contains("did not end")),
        "{result:?}"
    );
    assert!(world.now < 300 * SECOND, "{} s", world.now / SECOND);
}

#[test]
fn memory_is_touched_before_buffered_legs_alone() {
    let legs = Some(fixed(&[(64 * MIB, None), (32 * MIB, None)]));
    for (cache, warmed) in [
        (Cache::Buffered, vec![(Bytes(128 * MIB), 0)]),
        (Cache::Direct, vec![]),
    ] {
        let plan = Plan { cache, ..pair() };
        let (mut disk, kernel) = quiet(&plan);
        let terms = Terms {
            fixed: legs.clone(),
            ..Terms::first(&plan)
        };
        session(&plan, &mut disk, &kernel, &Interrupt::new(), &terms).unwrap();
        assert_eq!(kernel.0.lock().unwrap().warmed, warmed);
    }
}

#[test]
fn reads_from_memory_end_the_session() {
    let (result, _) = measure(&pair(), |w| w.from_memory = 0.3);
    assert!(
        matches!(&result, Err(MeasureError::NotTheDisk(why)) if why.contains("30 %")),
        "{result:?}"
    );
}

#[test]
fn pages_that_cannot_be_evicted_end_the_session() {
    let stuck = |w: &mut World| {
        w.resident = MIB;
        w.evicts = false;
    };
    for cache in [Cache::Direct, Cache::Buffered] {
        let (result, _) = measure(&Plan { cache, ..pair() }, stuck);
        assert!(
            matches!(&result, Err(MeasureError::NotTheDisk(why)) if why.contains("1 MiB of the file stay")),
            "{result:?}"
        );
    }
}

#[test]
fn direct_io_that_the_file_system_buffers_is_labelled() {
    let (session, _) = measure(&pair(), |w| w.leaves_resident = MIB);
    let session = session.unwrap();
    assert_eq!(
        session.workload["cache"],
        "direct (buffered by the file system)"
    );
    let (session, _) = measure(
        &Plan {
            cache: Cache::Buffered,
            ..pair()
        },
        |w| w.leaves_resident = MIB,
    );
    assert!(!session.unwrap().workload.contains_key("cache"));
}

#[test]
fn a_hole_in_the_layout_is_not_the_disk() {
    let hole = Layout {
        extents: 2,
        position: Bytes(0),
        not_data: Bytes(4096),
    };
    let (result, _) = measure(&pair(), |w| w.layout = Some(hole));
    assert!(
        matches!(&result, Err(MeasureError::NotTheDisk(why)) if why.starts_with("4 KiB")),
        "{result:?}"
    );
    let (session, _) = measure(&pair(), |w| w.layout = None);
    assert!(session.unwrap().notes[0].contains("layout unknown"));
}

#[test]
fn a_write_cache_below_doubles_the_leg_and_is_named() {
    let (session, _) = measure(&pair(), |w| w.cache = 2 * GIB);
    let session = session.unwrap();
    assert!(
        session.notes.contains(&"write cache below".to_owned()),
        "{:?}",
        session.notes
    );
    let seconds = session.leg_bytes[1].0 as f64 / 200e6;
    assert!((3.8..4.2).contains(&seconds), "{seconds} s");
    let write = session
        .rounds
        .iter()
        .flat_map(|r| &r.legs)
        .find(|l| l.direction == Direction::Write)
        .unwrap();
    assert!(
        (write.bytes.per(write.settled_time()).0 / 200e6 - 1.0).abs() < 0.01,
        "the drain is not in the rate"
    );
}

#[test]
fn a_leg_far_slower_than_its_aim_is_a_sample_of_what_it_did() {
    let plan = plan(&[Rw::Read]);
    let (mut disk, kernel) = quiet(&plan);
    kernel.0.lock().unwrap().read_rate = 40e6;
    let terms = Terms {
        fixed: Some(fixed(&[(400 * MIB, Some(SECOND))])),
        ..Terms::first(&plan)
    };
    let session = session(&plan, &mut disk, &kernel, &Interrupt::new(), &terms).unwrap();
    let leg = &session.rounds[0].legs[0];
    assert!(
        leg.bytes < Bytes(400 * MIB) && leg.time <= Nanos(4 * SECOND),
        "{leg:?}"
    );
    assert!((leg.bytes.per(leg.time).0 / 40e6 - 1.0).abs() < 0.01);
}

#[test]
fn a_signal_ends_the_session() {
    for leg in [1, 9, 30] {
        let (result, _) = measure(&pair(), |w| w.signal = Some(leg));
        assert!(
            matches!(result, Err(MeasureError::Interrupted(15))),
            "{result:?}"
        );
    }
}

#[test]
fn a_used_up_budget_ends_with_fewer_rounds_and_says_so() {
    let plan = Plan {
        budget: Nanos(20 * SECOND),
        budget_given: true,
        ..pair()
    };
    let (session, _) = measure(&plan, |_| ());
    let session = session.unwrap();
    let (_, kept, _) = fates(&session);
    assert!((6..9).contains(&kept), "{kept} kept");
    assert_eq!(
        session.notes,
        [format!(
            "the budget of 20.0 s ended after {kept} of 20 rounds"
        )]
    );
}

#[test]
fn no_more_is_written_than_the_plan_allows() {
    for writes in [3 * GIB, 8 * GIB] {
        let (session, world) = measure(
            &Plan {
                writes: Bytes(writes),
                ..pair()
            },
            |_| (),
        );
        assert!(session.is_ok());
        let written = world.counters.own_written.unwrap();
        assert!(written <= writes + MIB, "{written} of {writes}");
    }
}

#[test]
fn the_null_engine_is_never_judged() {
    let plan = Plan {
        source: Source::Nowhere,
        ..pair()
    };
    let (session, world) = measure(&plan, |w| {
        w.from_memory = 1.0;
        w.foreign = |_| GIB;
        w.stolen = 50;
        w.restless = true;
    });
    assert_eq!(fates(&session.unwrap()), (2, 20, 0));
    assert!(world.laid.is_empty());
}

#[test]
fn an_existing_file_is_neither_laid_out_nor_written() {
    let plan = Plan {
        source: Source::Existing("/data".into()),
        writes: Bytes(0),
        ..plan(&[Rw::Read])
    };
    let (session, world) = measure(&plan, |w| w.resident = MIB);
    let session = session.unwrap();
    assert!(world.laid.is_empty() && session.flush_cost.is_none());
    assert_eq!(world.counters.own_written, Some(0));
    assert_eq!(
        session.workload.get("cache"),
        None,
        "its pages are evicted, not blamed"
    );
}

#[path = "session_legs_tests.rs"]
mod legs;
