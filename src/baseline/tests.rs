//! Files that must come back byte for byte, and files that must not come in at all.

use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::fixture::{baseline, candidate, steady, test, test_with, three};
use super::*;
use crate::sample::{Fate, Session};
use crate::suite::{Direction, MetricKind, Test};

const PATH: &str = "baselines/nvme-1tb-ext4/sequential.json";

fn parse(text: &str) -> Result<Baseline, BaselineError> {
    Baseline::parse(Path::new(PATH), text)
}

/// The error that a change to the file's document leads to.
fn refused(change: impl Fn(&mut Value)) -> BaselineError {
    let mut document: Value =
        serde_json::from_str(&baseline(three()).render()).expect("its own form");
    change(&mut document);
    let error = parse(&document.to_string()).expect_err("must be refused");
    assert_eq!(error.path, Path::new(PATH));
    error
}

/// The same, for one key of the second session.
fn refused_session(pointer: &str, value: Value) -> BaselineError {
    refused(|d| {
        *d.pointer_mut(&format!("/tests/direct/sessions/1{pointer}"))
            .expect("the key") = value.clone();
    })
}

#[test]
fn a_baseline_comes_back_byte_for_byte() {
    let first = baseline(three());
    let text = first.render();
    let again = parse(&text).expect("its own form");
    assert_eq!(again, first);
    assert_eq!(again.render(), text);
}

#[test]
fn the_form_is_read_by_people() {
    let text = baseline(three()).render();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[1], "  \"schema\": 1,");
    let at = |wanted: &str| {
        lines
            .iter()
            .position(|l| l.trim_start().starts_with(wanted))
            .expect(wanted)
    };
    assert!(at("\"summary\"") < at("\"accepted\"") && at("\"accepted\"") < at("\"anchor\""));
    assert!(text.contains("\"unit\": \"B/s\""));
    assert!(text.ends_with("}\n"));
    assert_eq!(
        lines.iter().filter(|l| l.contains("\"rounds\"")).count(),
        3,
        "one line a session"
    );
    assert!(
        !text.contains("\"series\""),
        "the 100 ms series are not kept"
    );
}

#[test]
fn candidates_come_back_with_their_series() {
    let first = candidate(three());
    let text = first.render();
    let again = Candidate::parse(Path::new("pending/x.json"), &text).expect("its own form");
    assert_eq!(again, first);
    assert_eq!(again.render(), text);
}

#[test]
fn the_table_of_the_form_names_every_field_that_is_written() {
    let mut session = three().remove(0);
    session.rounds[0].fate = Fate::Void("foreign reads".into());
    session.rounds[0].legs.truncate(1);
    session.rounds[1].fate = Fate::WarmUp;
    session.rounds[2].steal = None;
    (session.layout, session.reuse_distance, session.revision) = (None, None, None);
    let text = candidate(vec![session, steady("n", 5, 1.0, 1.0, 0.1)]).render();
    Candidate::parse(Path::new("x.json"), &text)
        .expect("a field that `shape` does not know was added");
}

#[test]
fn what_a_merge_or_a_full_disk_leaves_is_named() {
    let text = baseline(three()).render();
    let merged = text.replacen("  \"suite\"", "<<<<<<< HEAD\n  \"suite\"", 1);
    let error = parse(&merged).expect_err("markers");
    assert_eq!(error.fault, Fault::Conflict);
    assert!(
        error
            .to_string()
            .contains("merge-conflict markers at line 3"),
        "{error}"
    );
    for (text, found) in [
        ("", "an empty file"),
        (" \n", "an empty file"),
        (&text[..text.len() / 2], "ends early"),
    ] {
        let error = parse(text).expect_err("cut");
        assert_eq!(error.fault, Fault::Syntax);
        assert!(error.found.contains(found), "{error}");
    }
    let twice = text.replacen("\"suite\":", "\"suite\": \"x\", \"suite\":", 1);
    assert!(
        parse(&twice)
            .expect_err("doubled")
            .found
            .contains("`suite` stands twice")
    );
    assert_eq!(parse("[]").expect_err("a list").wanted, "an object");
}

#[test]
fn numbers_that_cannot_be_are_refused_with_their_key() {
    let time = "tests.direct.sessions[1].rounds[4].legs[0].time";
    let error = refused_session("/rounds/4/legs/0/time", json!(0));
    assert_eq!((error.key.as_str(), error.found.as_str()), (time, "0"));
    assert_eq!(error.wanted, "a whole number above zero");
    for value in [
        json!(-3),
        json!(1.5),
        json!("7"),
        Value::Null,
        json!(u64::MAX),
    ] {
        assert_eq!(refused_session("/rounds/4/legs/0/time", value).key, time);
    }
    assert_eq!(
        refused_session("/seconds", json!(-0.5)).key,
        "tests.direct.sessions[1].seconds"
    );
    let text = baseline(three()).render();
    for odd in ["NaN", "-Infinity", "1e999", "-1e999"] {
        let broken = text.replacen("\"seconds\": 44.5", &format!("\"seconds\": {odd}"), 1);
        let error = parse(&broken).expect_err("no number");
        assert_eq!(
            (error.key.as_str(), error.found.as_str()),
            ("tests.direct.sessions[0].seconds", odd)
        );
    }
    let broken = text.replacen("\"version\": \"0.1.0\"", "\"version\": NaN", 1);
    assert!(
        parse(&broken)
            .expect_err("no text")
            .key
            .ends_with("version")
    );
}

#[test]
fn missing_and_unknown_keys_are_refused_by_name() {
    let error = refused(|d| {
        d["tests"]["direct"]["sessions"][2]["rounds"][0]["legs"][1]
            .as_object_mut()
            .expect("leg")
            .remove("requests");
    });
    assert_eq!(
        error.key,
        "tests.direct.sessions[2].rounds[0].legs[1].requests"
    );
    assert_eq!(error.found, "nothing");
    let error = refused(|d| d["disk"]["serial"] = json!("S1"));
    assert_eq!(
        (error.key.as_str(), error.found.as_str()),
        ("disk.serial", "an unknown key")
    );
    assert_eq!(
        refused(|d| d["tests"]["direct"]["sessions"] = json!([])).wanted,
        "at least 1"
    );
    assert_eq!(
        refused_session("/rounds/0/legs", json!([])).found,
        "a list of 0"
    );
    assert_eq!(
        refused_session("/rounds/0/fate", json!("good")).found,
        "\"good\""
    );
    assert_eq!(
        refused_session("/latency/0/counts/0", json!([1])).found,
        "a list of 1"
    );
}

#[test]
fn another_schema_is_told_before_anything_else() {
    let error = refused(|d| *d = json!({ "schema": 2, "tests": 7 }));
    assert_eq!((error.fault, error.key.as_str()), (Fault::Schema, "schema"));
    let text = error.to_string();
    assert!(
        text.contains("2, written by a newer iogate") && text.contains("upgrade iogate"),
        "{text}"
    );
    assert_eq!(refused(|d| d["schema"] = json!("one")).fault, Fault::Schema);
    assert_eq!(
        refused(|d| drop(d.as_object_mut().map(|o| o.remove("schema")))).found,
        "nothing"
    );
}

#[test]
fn wrong_units_metrics_and_names_are_refused() {
    let error = refused(|d| d["tests"]["direct"]["summary"]["read"]["unit"] = json!("MiB/s"));
    assert_eq!(error.key, "tests.direct.summary.read.unit");
    assert!(
        error
            .to_string()
            .contains("found \"MiB/s\", expected \"B/s\""),
        "{error}"
    );
    let error = refused(|d| {
        d["tests"]["direct"]["summary"]["speed"] = d["tests"]["direct"]["summary"]["read"].clone()
    });
    assert_eq!(error.key, "tests.direct.summary.speed");
    assert_eq!(
        refused(|d| d["tests"]["direct"]["anchor"]["sessions"]["x"] = json!([])).wanted,
        "the name of a metric"
    );
    assert!(
        refused(|d| d["suite"] = json!("random"))
            .to_string()
            .contains("as the file is named")
    );
    let error = refused(|d| d["tests"]["a b"] = d["tests"]["direct"].clone());
    assert!(error.found.contains("a b"), "{error}");
    assert_eq!(
        refused(|d| d["disk"]["name"] = json!("../up")).key,
        "disk.name"
    );
}

#[test]
fn sessions_that_do_not_belong_together_are_refused() {
    let error = refused_session("/id", json!("s0"));
    assert_eq!(
        (error.key.as_str(), error.fault),
        ("tests.direct.sessions[1].id", Fault::Content)
    );
    let error = refused_session("/workload/block", json!("1 MiB"));
    assert_eq!(error.key, "tests.direct.sessions[1].workload.block");
    assert_eq!(
        refused_session("/leg_bytes", json!([1, 2])).key,
        "tests.direct.sessions[1].leg_bytes"
    );
    let error = refused(|d| {
        let rounds = d["tests"]["direct"]["sessions"][1]["rounds"]
            .as_array_mut()
            .expect("rounds");
        rounds.truncate(LEAST_ROUNDS - 1);
    });
    assert_eq!(
        (error.found.as_str(), error.wanted.as_str()),
        ("5 kept rounds", "at least 6")
    );
}

#[test]
fn a_summary_edited_by_hand_is_noticed() {
    for key in ["value", "lowest", "highest", "tolerance"] {
        let error = refused(|d| {
            let figure = &mut d["tests"]["direct"]["summary"]["ratio"][key];
            *figure = json!(figure.as_f64().expect("a number") * 1.001);
        });
        assert_eq!(error.key, format!("tests.direct.summary.ratio.{key}"));
        assert!(
            error.found.contains("does not follow from the sessions"),
            "{error}"
        );
    }
    assert_eq!(
        refused(|d| d["tests"]["direct"]["max_sessions"] = json!(4_000_000)).fault,
        Fault::Content
    );
}

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
    assert_eq!(parse(&text).expect("readable"), made.baseline);
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
        refusal.to_string().contains("ratio -10.") && refusal.to_string().contains("read -10."),
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_sessions_survive_the_file(rates in prop::collection::vec((0.001..90.0_f64, 0.001..90.0_f64), 6..9)) {
        let sessions: Vec<Session> = (0..3).map(|k| super::fixture::session(&format!("s{k}"), k, &rates)).collect();
        let first = baseline(sessions);
        let again = parse(&first.render()).expect("its own form");
        prop_assert_eq!(again.render(), first.render());
        prop_assert_eq!(again, first);
    }

    #[test]
    fn a_cut_or_garbled_file_is_refused_without_a_panic(at in 0_usize..4_000, byte in any::<u8>(), cut in any::<bool>()) {
        let mut bytes = baseline(three().into_iter().take(1).collect()).render().into_bytes();
        let at = at % bytes.len();
        if cut { bytes.truncate(at) } else { bytes[at] = byte }
        if let Ok(read) = parse(&String::from_utf8_lossy(&bytes)) {
            prop_assert!(parse(&read.render()).is_ok());
        }
    }
}
