//! How long legs are, what of them is told, and what a session learns before it counts.

use super::*;
use crate::plan::MOST_WARM_UP;

#[test]
fn a_mirror_is_no_neighbour_and_a_neighbour_no_mirror() {
    let (session, _) = measure(&pair(), |w| w.amp = 2.0);
    let session = session.unwrap();
    assert_eq!(fates(&session), (2, 20, 0));
    assert_eq!(
        session.notes,
        ["the device writes 2.00 bytes for each byte of ours"]
    );
    // On the mirror a neighbour is seen all the same.
    let (session, _) = measure(&pair(), |w| {
        w.amp = 2.0;
        w.foreign_writes = |leg| if leg % 20 == 0 { 100 * MIB } else { 0 };
    });
    assert!(fates(&session.unwrap()).2 > 0);
    // Of one who writes now more and now less nothing is learnt.
    let (result, _) = measure(&pair(), |w| {
        w.foreign_writes = |leg| leg as u64 % 7 * 40 * MIB
    });
    assert!(
        matches!(result, Err(MeasureError::Disturbed(_))),
        "{result:?}"
    );
}

#[test]
fn written_bytes_are_not_cut_short_because_no_time_is_expected_of_them() {
    let mut plan = plan(&[Rw::Read]);
    plan.legs[0].bytes = Some(Bytes(400 * MIB));
    // Ten seconds a leg, though it would aim at one.
    let (session, _) = measure(&plan, |w| w.read_rate = 40e6);
    let session = session.unwrap();
    let legs = session.rounds.iter().flat_map(|r| &r.legs);
    assert!(legs.into_iter().all(|l| l.bytes == Bytes(400 * MIB)));
    assert_eq!(fates(&session), (2, 20, 0));
}

#[test]
fn written_bytes_are_cut_when_a_leg_takes_four_times_the_warm_up() {
    let mut plan = plan(&[Rw::Read]);
    plan.legs[0].bytes = Some(Bytes(400 * MIB));
    let (mut disk, kernel) = quiet(&plan);
    let interrupt = Interrupt::new();
    let terms = Terms::first(&plan);
    let mut run = Run::new(&plan, &mut disk, &kernel, &interrupt, &terms);
    run.place_legs();
    run.find_leg_bytes().unwrap();
    run.warm_up().unwrap();
    kernel.0.lock().unwrap().read_rate = 10e6;
    let (round, _) = run.round(false).unwrap();
    // A leg of 400 MiB took 1.05 s at 400 MB/s.
    let leg = &round.legs[0];
    assert!(
        leg.bytes < Bytes(60 * MIB) && leg.time < Nanos(5 * SECOND),
        "{leg:?}"
    );
}

#[test]
fn at_depth_on_a_slow_disk_a_leg_aims_higher_but_never_beyond_ten_seconds() {
    let deep = |depth| Plan {
        depth,
        engine: crate::suite::EngineKind::IoUring,
        ..plan(&[Rw::Read])
    };
    // 400 requests of 1 MiB at 100 MB/s take 4.2 s.
    let (session, world) = measure(&deep(8), |w| w.read_rate = 100e6);
    let session = session.unwrap();
    assert_eq!(session.leg_bytes, [Bytes(400 * MIB)]);
    assert_eq!(
        session.notes,
        ["read legs take 4.2 s: 50 requests for each one in flight"]
    );
    let last = world.legs.last().unwrap();
    assert!(last.limit > Nanos(16 * SECOND), "{:?}", last.limit);
    let whole = session.rounds.iter().flat_map(|r| &r.legs);
    assert!(whole.into_iter().all(|l| l.bytes == Bytes(400 * MIB)));

    // 1600 requests would take 16.8 s.
    let (session, _) = measure(&deep(32), |w| w.read_rate = 100e6);
    let session = session.unwrap();
    let seconds = session.leg_bytes[0].0 as f64 / 100e6;
    assert!((9.5..10.5).contains(&seconds), "{seconds} s");
    assert_eq!(
        session.notes,
        ["read legs of 10 s hold 29.8 requests for each one in flight, 50 are wanted"]
    );
}

#[test]
fn open_legs_are_whole_stripes() {
    let stripe = 3 * 512 * 1024;
    let (session, _) = measure(
        &Plan {
            stripe: Bytes(stripe),
            ..pair()
        },
        |w| w.write_rate = 90e6,
    );
    for bytes in session.unwrap().leg_bytes {
        assert!(
            bytes.0.is_multiple_of(stripe) && bytes.0.is_multiple_of(MIB),
            "{bytes}"
        );
    }
}

#[test]
fn early_rereading_is_told_with_its_distance() {
    let far = |reread_after| Plan {
        reread_after: Bytes(reread_after),
        ..pair()
    };
    // Legs of 381 and 191 MiB: one run of each fits into 1 GiB.
    let (session, _) = measure(&far(4 * GIB), |_| ());
    let session = session.unwrap();
    let distance = session.reuse_distance.unwrap().0 / MIB;
    assert_eq!(session.notes, [format!("rereads after {distance} MiB")]);
    assert!((500..1024).contains(&distance), "{distance}");
    assert_eq!(session.told().count(), 1);
    let (session, _) = measure(&far(distance * MIB), |_| ());
    assert_eq!(session.unwrap().notes, Vec::<String>::new());
}

#[test]
fn the_harness_tells_its_own_cost_where_there_is_no_disk() {
    let plan = Plan {
        source: Source::Nowhere,
        ..pair()
    };
    let (session, _) = measure(&plan, |_| ());
    // 1 MiB at 400 and at 200 MB/s.
    assert_eq!(
        session.unwrap().notes,
        [
            "a read request costs 2621440 ns beside its I/O: the clock and the tally",
            "a write request costs 5242880 ns beside its I/O: the clock, the tally and the stamps of its data"
        ]
    );
}

#[test]
fn short_legs_do_not_warm_up_for_ever() {
    let plan = pair();
    let (mut disk, kernel) = quiet(&plan);
    let terms = Terms {
        fixed: Some(fixed(&[(MIB, None), (MIB, None)])),
        settle: Nanos(60 * SECOND),
        ..Terms::first(&plan)
    };
    let session = session(&plan, &mut disk, &kernel, &Interrupt::new(), &terms).unwrap();
    assert_eq!(fates(&session).0, MOST_WARM_UP as usize);
}
