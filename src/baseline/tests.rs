//! Files that must come back byte for byte, and files that must not come in at all.

use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::fixture::{baseline, candidate, session, steady, three};
use super::*;
use crate::sample::{Fate, Session};

mod accepting;

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
            .contains("merge-conflict markers at line 12"),
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_sessions_survive_the_file(rates in prop::collection::vec((0.001..90.0_f64, 0.001..90.0_f64), 6..9)) {
        let sessions: Vec<Session> = (0..3).map(|k| session(&format!("s{k}"), k, &rates)).collect();
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
