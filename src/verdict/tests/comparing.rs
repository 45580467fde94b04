//! What can be compared at all, floors, and what changed around the disk.

use super::*;

#[test]
fn floors_are_judged_by_the_whole_interval_with_and_without_a_baseline() {
    let mut case = Case::rates(&[(2.0, 1.0)]);
    case.gate(MetricKind::Ratio, |g| g.min = Some(2.5));
    let judgement = case.done();
    assert_eq!(
        (judgement.verdict, judgement.reason),
        (Verdict::Regressed, Some(Reason::Floor))
    );
    assert!(
        judgement.detail.contains("below the floor of 2.50"),
        "{}",
        judgement.detail
    );
    case.baseline = None;
    assert_eq!(case.verdict(), (Verdict::Regressed, Some(Reason::Floor)));
    case.gate(MetricKind::Ratio, |g| g.min = Some(2.0));
    assert_eq!(
        case.verdict().0,
        Verdict::NoBaseline,
        "the interval holds the floor"
    );
    case.gate(MetricKind::Ratio, |g| (g.min, g.max) = (None, Some(1.5)));
    let judgement = case.done();
    assert!(judgement.detail.contains("above the ceiling of 1.50"));
    assert!(of(&judgement, MetricKind::Ratio).ceiling);
    case.gate(MetricKind::Ratio, |g| g.advisory = true);
    assert_eq!(
        case.verdict().0,
        Verdict::NoBaseline,
        "advisory metrics never fail"
    );
}

#[test]
fn a_test_with_floors_alone_needs_no_baseline() {
    let mut case = Case::rates(&[(2.0, 1.0)]);
    case.baseline = None;
    case.test.gates.clear();
    assert_eq!(
        case.verdict(),
        (Verdict::NoBaseline, None),
        "nothing gated, nothing accepted: not green"
    );
    case.gate(MetricKind::Ratio, |g| g.min = Some(1.0));
    assert_eq!(case.verdict(), (Verdict::Pass, None));
}

#[test]
fn without_a_baseline_the_verdict_names_the_disk() {
    let mut case = Case::rates(&[(2.0, 1.0)]);
    case.baseline = None;
    let judgement = case.done();
    assert_eq!(judgement.verdict, Verdict::NoBaseline);
    assert!(
        judgement
            .detail
            .starts_with("no baseline for nvme-1tb-ext4 (ACME 1TB)"),
        "{}",
        judgement.detail
    );
}

#[test]
fn another_disk_is_not_comparable_unless_the_model_will_do() {
    let mut case = Case::rates(&[(1.0, 1.0)]);
    case.disk.hash = "bb22".into();
    let judgement = case.done();
    assert_eq!(judgement.verdict, Verdict::NotComparable);
    assert!(
        judgement.detail.contains("aa11") && judgement.detail.contains("bb22"),
        "{}",
        judgement.detail
    );
    case.by_model = true;
    assert_ne!(case.look().judgement().verdict, Verdict::NotComparable);
    case.disk.model = "OTHER".into();
    assert_eq!(case.verdict().0, Verdict::NotComparable);
}

#[test]
fn another_workload_is_not_comparable_and_every_key_is_named() {
    let mut case = Case::rates(&[(2.0, 1.0)]);
    case.workload.insert("block".into(), "1 MiB".into());
    case.workload.insert("workers".into(), "4".into());
    let judgement = case.done();
    assert_eq!(judgement.verdict, Verdict::NotComparable);
    assert!(
        judgement
            .detail
            .contains("block: 128 KiB, now 1 MiB, workers: absent, now 4"),
        "{}",
        judgement.detail
    );
}

#[test]
fn a_metric_that_was_never_accepted_is_not_comparable() {
    let mut case = Case::rates(&[(2.0, 1.0)]);
    let bare = three().into_iter().map(|mut s| {
        s.flush_cost = None;
        s
    });
    case.baseline = Some(baseline(bare.collect()));
    case.gate(MetricKind::Flush, |g| {
        g.tolerance = Tolerance::Given(Fraction(0.5))
    });
    let judgement = case.done();
    assert_eq!(judgement.verdict, Verdict::NotComparable);
    assert!(judgement.detail.contains("flush"), "{}", judgement.detail);
}

#[test]
fn a_gated_metric_the_run_does_not_yield_is_no_pass() {
    let mut case = Case::rates(&[(2.0, 1.0)]);
    case.gate(MetricKind::Latency(Direction::Read, 999), |g| {
        g.tolerance = Tolerance::Auto
    });
    case.sessions[0].latency.clear();
    let judgement = case.done();
    assert_eq!(
        (judgement.verdict, judgement.reason),
        (Verdict::Inconclusive, Some(Reason::Budget))
    );
    assert!(
        judgement.detail.contains("read_p999"),
        "{}",
        judgement.detail
    );
}

#[test]
fn changed_settings_are_named_with_both_values_and_nothing_else_is() {
    let mut case = Case::rates(&[(1.0, 1.0), (1.0, 1.0)]);
    case.settings.insert("read_ahead_kb".into(), "0".into());
    case.settings.insert("kernel".into(), "6.19".into());
    case.settings.remove("scheduler");
    case.sessions[1].debug_assertions = true;
    let suspects = case.done().suspects;
    let words: Vec<String> = suspects
        .iter()
        .map(|s| format!("{} {} {}", s.name, s.baseline, s.now))
        .collect();
    assert_eq!(
        words,
        [
            "debug_assertions false true",
            "kernel 6.18 6.19",
            "read_ahead_kb absent 0",
            "scheduler none absent"
        ]
    );
}

#[test]
fn a_file_in_four_times_the_pieces_is_another_layout() {
    let mut case = Case::rates(&[(2.0, 1.0)]);
    // The fixture's baseline lies in three extents.
    let mut lies = |extents, fragmented: bool| {
        let session = &mut case.sessions[0];
        session.layout.as_mut().unwrap().extents = extents;
        session.notes = Vec::from_iter(fragmented.then(|| "fragmented: 12 extents".to_owned()));
        case.done()
    };
    let told = lies(12, true);
    assert_eq!(told.verdict, Verdict::NotComparable);
    assert!(
        told.detail.contains("in 12 extents, and in 3 at most"),
        "{}",
        told.detail
    );
    assert_eq!(lies(11, true).verdict, Verdict::Pass);
    assert_eq!(
        lies(12, false).verdict,
        Verdict::Pass,
        "large pieces cost nothing"
    );
}

#[test]
fn notes_that_say_what_the_numbers_are_of_stand_beside_the_verdict() {
    let mut case = Case::rates(&[(2.0, 1.0)]);
    case.sessions[0].notes = vec![
        "rereads after 256 MiB".into(),
        "write cache below".into(),
        "workers pinned to CPUs 0".into(),
    ];
    let wanted = ["rereads after 256 MiB", "write cache below"];
    assert_eq!(case.done().notes, wanted);
    case.baseline = None;
    assert_eq!(case.done().notes, wanted);
}
