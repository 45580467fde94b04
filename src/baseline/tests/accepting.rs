//! What is taken, what is refused and what stays as it was.

use std::path::Path;

use super::super::fixture::{baseline, candidate, steady, test, test_with, three};
use super::super::*;
use crate::suite::{Direction, MetricKind, Test};

fn options() -> AcceptOptions {
    AcceptOptions {
        now: 1_700_009_000,
        ..AcceptOptions::default()
    }
}

fn accept_into(
    existing: Option<&Baseline>,
    sessions: Vec<Session>,
    test: &Test,
    options: &AcceptOptions,
) -> Result<Promotion, Refusal> {
    accept(existing, &candidate(sessions), test, options)
}

/// Three sessions of a later time at this read rate.
fn later(prefix: &str, read: f64) -> Vec<Session> {
    (0..3)
        .map(|k| steady(&format!("{prefix}{k}"), 5_000 + 100 * k, read, 1.0, 0.01))
        .collect()
}

#[test]
fn three_runs_and_an_accept_make_a_blocking_baseline_that_can_be_read_back() {
    let made = accept_into(None, three(), &test(), &options()).expect("valid");
    assert!(!made.provisional && !made.unchanged && made.left_out.is_empty());
    assert!(made.baseline.tests["direct"].anchor.is_frozen());
    assert_eq!(made.shown.len(), 3);
    let ratio = &made.shown[0];
    assert_eq!(
        (ratio.metric.kind, ratio.old, ratio.new.tolerance),
        (MetricKind::Ratio, None, 0.05)
    );
    let text = made.baseline.render();
    assert_eq!(
        Baseline::parse(Path::new(super::PATH), &text).expect("readable"),
        made.baseline
    );
}

#[test]
fn accepting_the_same_sessions_again_changes_no_byte() {
    let first = accept_into(None, three(), &test(), &options())
        .expect("valid")
        .baseline;
    let later = AcceptOptions {
        now: 1_800_000_000,
        ..options()
    };
    for options in [
        later.clone(),
        AcceptOptions {
            append: true,
            ..later
        },
    ] {
        let again = accept_into(Some(&first), three(), &test(), &options).expect("valid");
        assert!(again.unchanged);
        assert_eq!(again.baseline.render(), first.render());
    }
}

#[test]
fn other_tests_stay_as_they_were() {
    let mut existing = baseline(three());
    let other = existing.tests["direct"].clone();
    existing.tests.insert("buffered".into(), other.clone());
    let made = accept_into(Some(&existing), later("n", 2.0), &test(), &options()).expect("valid");
    assert_eq!(made.baseline.tests["buffered"], other);
    assert_eq!(made.replaced, Some((other.accepted, None)));
    assert_eq!(made.sessions, 3);
}

#[test]
fn append_keeps_the_old_sessions_and_the_anchor() {
    let existing = baseline(three());
    let append = AcceptOptions {
        append: true,
        ..options()
    };
    let made = accept_into(Some(&existing), later("n", 1.96), &test(), &append).expect("valid");
    let accepted = &made.baseline.tests["direct"];
    assert_eq!(accepted.sessions.len(), 6);
    assert_eq!(accepted.anchor, existing.tests["direct"].anchor);
    let drift = made.shown[0].drift.expect("an anchor");
    assert!((-0.02..-0.005).contains(&drift), "{drift}");
    let mut other = later("m", 2.0);
    other
        .iter_mut()
        .for_each(|s| drop(s.workload.insert("depth".into(), "1".into())));
    let refusal = accept_into(Some(&existing), other, &test(), &append).expect_err("mixed");
    assert!(refusal.to_string().contains("depth: 8, now 1"), "{refusal}");
}

#[test]
fn fewer_than_three_sessions_do_not_replace_a_blocking_baseline_unasked() {
    let two = || later("n", 2.0).into_iter().take(2).collect::<Vec<_>>();
    let refusal =
        accept_into(Some(&baseline(three())), two(), &test(), &options()).expect_err("two");
    assert!(
        matches!(
            refusal,
            Refusal::FewerSessions {
                have: 2,
                had: 3,
                ..
            }
        ),
        "{refusal}"
    );
    let asked = AcceptOptions {
        provisional: true,
        ..options()
    };
    assert!(
        accept_into(Some(&baseline(three())), two(), &test(), &asked)
            .expect("asked for")
            .provisional
    );
    assert!(
        accept_into(None, two(), &test(), &options())
            .expect("nothing to replace")
            .provisional
    );
}

#[test]
fn a_worse_baseline_needs_a_reason() {
    let existing = baseline(three());
    let refusal =
        accept_into(Some(&existing), later("n", 1.8), &test(), &options()).expect_err("worse");
    assert!(
        refusal.to_string().contains("ratio −10.") && refusal.to_string().contains("read −10."),
        "{refusal}"
    );
    let reason = AcceptOptions {
        reason: Some("new firmware".into()),
        ..options()
    };
    let made =
        accept_into(Some(&existing), later("n", 1.8), &test(), &reason).expect("with a reason");
    assert_eq!(
        made.baseline.tests["direct"].reason.as_deref(),
        Some("new firmware")
    );
    assert!(
        accept_into(Some(&existing), later("n", 2.3), &test(), &options()).is_ok(),
        "better needs none"
    );
    assert!(
        accept_into(
            Some(&existing),
            later("n", 1.8),
            &test_with(0.2),
            &options()
        )
        .is_ok(),
        "tolerated"
    );
}

#[test]
fn small_steps_down_do_not_pass_one_by_one() {
    let first = accept_into(None, three(), &test(), &options())
        .expect("valid")
        .baseline;
    let second = accept_into(Some(&first), later("n", 1.94), &test(), &options())
        .expect("3 % down")
        .baseline;
    let refusal = accept_into(Some(&second), later("m", 1.88), &test(), &options())
        .expect_err("6 % since the anchor");
    assert!(
        refusal
            .to_string()
            .contains("since the first accepted ones"),
        "{refusal}"
    );
    let reason = AcceptOptions {
        reason: Some("new kernel".into()),
        ..options()
    };
    let third = accept_into(Some(&second), later("m", 1.88), &test(), &reason)
        .expect("reasoned")
        .baseline;
    assert!(
        accept_into(Some(&third), later("o", 1.88), &test(), &options()).is_ok(),
        "asked once, not for ever"
    );
}

#[test]
fn a_new_anchor_needs_a_reason_and_is_frozen_again() {
    let existing = baseline(three());
    let anew = AcceptOptions {
        new_anchor: true,
        ..options()
    };
    assert_eq!(
        accept_into(Some(&existing), later("n", 2.0), &test(), &anew),
        Err(Refusal::NeedsReason)
    );
    let anew = AcceptOptions {
        reason: Some("new firmware".into()),
        ..anew
    };
    let made = accept_into(Some(&existing), later("n", 1.8), &test(), &anew).expect("reasoned");
    let anchor = &made.baseline.tests["direct"].anchor;
    assert_eq!(
        (anchor.accepted, anchor.reason.as_deref()),
        (1_700_009_000, Some("new firmware"))
    );
    assert!(
        made.shown.iter().all(|s| s.drift == Some(0.0)),
        "{:?}",
        made.shown
    );
}

#[test]
fn only_sessions_like_the_newest_are_taken_and_the_others_named() {
    let mut sessions = later("n", 2.0);
    sessions.extend(later("m", 2.0));
    sessions[0]
        .settings
        .insert("scheduler".into(), "bfq".into());
    let mut pending = candidate(sessions);
    pending.sessions[1].barred = Some("attempt 2 of the runner".into());
    pending.sessions[2].text = "t0".into();
    let made = accept(None, &pending, &test(), &options()).expect("three are left");
    assert_eq!(made.sessions, 3);
    let why: Vec<&str> = made.left_out.iter().map(|(_, why)| why.as_str()).collect();
    assert!(
        why[0].contains("scheduler was `bfq`, in the newest session it is `none`"),
        "{why:?}"
    );
    assert_eq!(why[1], "attempt 2 of the runner");
    assert!(why[2].contains("suite text"), "{why:?}");
}

#[test]
fn nothing_is_accepted_that_is_not_the_disks() {
    let mut null = three();
    null.iter_mut()
        .for_each(|s| drop(s.workload.insert("engine".into(), "null".into())));
    let refusal = accept_into(None, null, &test(), &options()).expect_err("no I/O");
    assert!(refusal.to_string().contains("null engine"), "{refusal}");
    let mut short = three();
    short.iter_mut().for_each(|s| s.rounds.truncate(3));
    assert!(matches!(
        accept_into(None, short, &test(), &options()),
        Err(Refusal::NothingValid { .. })
    ));
    let mut unproven = three();
    for leg in unproven
        .iter_mut()
        .flat_map(|s| &mut s.rounds)
        .flat_map(|r| &mut r.legs)
    {
        (leg.own, leg.device) = (None, None);
    }
    let refusal = accept_into(None, unproven, &test(), &options()).expect_err("no witness");
    assert!(refusal.to_string().contains("vouches"), "{refusal}");
    let mut changed = test();
    changed.text = "t2".into();
    assert!(matches!(
        accept_into(None, three(), &changed, &options()),
        Err(Refusal::TextChanged { .. })
    ));
    let mut other = baseline(three());
    other.disk.hash = "bb22".into();
    assert!(matches!(
        accept_into(Some(&other), three(), &test(), &options()),
        Err(Refusal::OtherDisk { .. })
    ));
    assert!(matches!(
        accept_into(None, vec![], &test(), &options()),
        Err(Refusal::NothingValid { .. })
    ));
}

#[test]
fn a_disk_of_the_same_model_will_do_where_that_is_asked_for() {
    let mut other = baseline(three());
    other.disk.hash = "bb22".into();
    let by_model = AcceptOptions {
        by_model: true,
        ..options()
    };
    let made = accept_into(Some(&other), later("n", 2.0), &test(), &by_model).expect("like it");
    assert_eq!(
        made.baseline.disk.hash, "bb22",
        "the file stays this disk's"
    );
    other.disk.model = "OTHER".into();
    assert!(matches!(
        accept_into(Some(&other), later("n", 2.0), &test(), &by_model),
        Err(Refusal::OtherDisk { .. })
    ));
}

#[test]
fn a_preview_shows_what_would_need_a_word_and_a_blank_reason_is_none() {
    let existing = baseline(three());
    let blank = AcceptOptions {
        reason: Some("  ".into()),
        ..options()
    };
    assert!(matches!(
        accept_into(Some(&existing), later("n", 1.0), &test(), &blank),
        Err(Refusal::Worse { .. })
    ));
    let preview = AcceptOptions {
        preview: true,
        ..options()
    };
    let one = later("n", 1.0).into_iter().take(1).collect();
    let made = accept_into(Some(&existing), one, &test(), &preview).expect("only shown");
    let losses: Vec<bool> = made.shown.iter().map(|s| s.is_loss).collect();
    assert_eq!(losses, [true, true, false], "ratio and read, not write");
    assert_eq!(made.baseline.tests["direct"].reason, None);
}

#[test]
fn a_session_of_two_regimes_is_left_out_unless_asked_for() {
    let mut sessions = three();
    for round in &mut sessions[1].rounds[10..] {
        round
            .legs
            .iter_mut()
            .filter(|l| l.direction == Direction::Read)
            .for_each(|l| l.time.0 *= 2);
    }
    let made = accept_into(None, sessions.clone(), &test(), &options()).expect("two are left");
    assert_eq!(made.sessions, 2);
    assert!(
        made.left_out[0]
            .1
            .contains("from its first rounds to its last"),
        "{:?}",
        made.left_out
    );
    let asked = AcceptOptions {
        allow_regime: true,
        ..options()
    };
    assert_eq!(
        accept_into(None, sessions, &test(), &asked)
            .expect("asked for")
            .sessions,
        3
    );
}

#[test]
fn a_new_workload_starts_a_new_anchor_and_is_not_called_worse() {
    let mut sessions = later("n", 1.0);
    sessions
        .iter_mut()
        .for_each(|s| drop(s.workload.insert("block".into(), "4 KiB".into())));
    let made = accept_into(Some(&baseline(three())), sessions, &test(), &options())
        .expect("another workload");
    assert!(made.shown.iter().all(|s| s.old.is_none()));
    assert_eq!(made.baseline.tests["direct"].anchor.accepted, 1_700_009_000);
}
