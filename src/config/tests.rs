use std::path::PathBuf;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::config::{Match, Require, Update};
use crate::units::{Bytes, GIB};

const LOCAL: &str = ".config/iogate.local.toml";
const FILE: &str = ".config/iogate.toml";

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
    pairs.iter().map(owned).collect()
}

fn resolve(
    flags: &[(&str, &str)],
    vars: &[(&str, &str)],
    local: &str,
    file: &str,
) -> Result<Resolved, String> {
    let files = (Some((LOCAL, local)), Some((FILE, file)));
    Config::resolve(&pairs(flags), &pairs(vars), files.0, files.1).map_err(|errors| {
        let lines: Vec<_> = errors.iter().map(ToString::to_string).collect();
        lines.join("\n")
    })
}

fn error(flags: &[(&str, &str)], vars: &[(&str, &str)], local: &str, file: &str) -> String {
    resolve(flags, vars, local, file).expect_err("nothing wrong was found")
}

#[test]
fn without_a_word_the_defaults_hold() {
    let resolved = Config::resolve(&[], &[], None, None).expect("defaults");
    assert_eq!(resolved.config, Config::default());
    assert_eq!(resolved.config.max_write, Bytes(64 * GIB));
    assert!(
        resolved
            .settings()
            .iter()
            .all(|s| s.origin == Origin::Default)
    );
}

#[test]
fn a_flag_beats_a_variable_beats_the_local_file_beats_the_file() {
    let file = "gap = \"1s\"\nstrict = true";
    let local = "gap = \"2s\"";
    let gap = |flags: &[(&str, &str)], vars: &[(&str, &str)], local: &str| {
        let resolved = resolve(flags, vars, local, file).expect("sound");
        assert!(
            resolved.config.strict,
            "what the upper layers leave alone stays"
        );
        (
            resolved.config.gap.as_secs(),
            resolved.origin("gap").to_string(),
        )
    };
    let (flag, var) = ([("gap", "4s")], [("IOGATE_GAP", "3s")]);
    assert_eq!(gap(&flag, &var, local), (4, "flag --gap".to_owned()));
    assert_eq!(gap(&[], &var, local), (3, "variable IOGATE_GAP".to_owned()));
    assert_eq!(gap(&[], &[], local), (2, format!("{LOCAL}:1")));
    assert_eq!(gap(&[], &[], ""), (1, format!("{FILE}:1")));
}

#[test]
fn every_key_is_read_from_a_file() {
    let local = "disk = [\"/mnt/a\", \"/mnt/b:c\"]\ndestroy = \"/dev/loop9\"";
    let file = r#"
        disk-name = "rack-7"
        suites = "perf/suites"
        baselines = "perf/baselines"
        match = "model"
        require = "baseline"
        strict = true
        strict-medium = true
        max-write = "1 GiB"
        max-undecided = 5
        gap = "1min"
        update = "no"
        allow-memory = true
        allow-overlay = true
        targets = ["gate", "gate_slow"]
    "#;
    let resolved = resolve(&[], &[], local, file).expect("sound");
    let expected = Config {
        disk: vec![PathBuf::from("/mnt/a"), PathBuf::from("/mnt/b:c")],
        disk_name: Some("rack-7".to_owned()),
        suites: Some(PathBuf::from("perf/suites")),
        baselines: Some(PathBuf::from("perf/baselines")),
        destroy: Some(PathBuf::from("/dev/loop9")),
        matching: Match::Model,
        require: Some(Require::Baseline),
        strict: true,
        strict_medium: true,
        max_write: Bytes(GIB),
        max_undecided: 5,
        gap: Duration::from_secs(60),
        update: Update::No,
        allow_memory: true,
        allow_overlay: true,
        targets: vec!["gate".to_owned(), "gate_slow".to_owned()],
    };
    assert_eq!(resolved.config, expected);
    assert!(
        resolved
            .settings()
            .iter()
            .all(|s| s.origin != Origin::Default)
    );
    assert!(resolved.settings().iter().all(|s| !s.value.is_empty()));
}

#[test]
fn every_key_is_read_from_its_variable_and_its_flag() {
    let values = [
        ("disk", "/mnt/a:/mnt/b"),
        ("disk-name", "d"),
        ("suites", "s"),
        ("baselines", "b"),
        ("destroy", "/dev/loop9"),
        ("match", "model"),
        ("require", "disk"),
        ("strict", "yes"),
        ("strict-medium", "1"),
        ("max-write", "1GiB"),
        ("max-undecided", "5"),
        ("gap", "0s"),
        ("update", "always"),
        ("allow-memory", "true"),
        ("allow-overlay", "1"),
        ("targets", "gate:slow"),
    ];
    assert_eq!(
        values.map(|(key, _)| key),
        ROWS.each_ref().map(|row| row.name)
    );
    let names = values.map(|(key, _)| variable(key));
    let vars: Vec<_> = names
        .iter()
        .map(String::as_str)
        .zip(values.map(|(_, v)| v))
        .collect();
    let config = resolve(&[], &vars, "", "").expect("variables").config;
    assert_eq!(
        config.disk,
        [PathBuf::from("/mnt/a"), PathBuf::from("/mnt/b")]
    );
    assert_eq!(config.targets, ["gate", "slow"]);
    assert!(config.strict && config.strict_medium && config.allow_memory && config.allow_overlay);
    let config = resolve(&[], &[("IOGATE_DISK", r"/mnt/a\:b:/mnt/c\d")], "", "").expect("a colon");
    assert_eq!(
        config.config.disk,
        [PathBuf::from("/mnt/a:b"), PathBuf::from(r"/mnt/c\d")]
    );
    let config = resolve(&[("disk", "/mnt/a\tb\nc")], &[], "", "").expect("white space");
    assert_eq!(config.config.disk, [PathBuf::from("/mnt/a\tb\nc")]);
    // A target's name has no colon, and a flag is not split at one.
    let flags = &values[..15];
    let config = resolve(flags, &[], "", "").expect("flags").config;
    assert_eq!(config.disk, [PathBuf::from("/mnt/a:/mnt/b")]);
}

#[test]
fn repeated_disks_make_a_pool_and_replace_the_one_below_whole() {
    let flags = [("disk", "/mnt/a"), ("disk", "/mnt/b")];
    let config = resolve(
        &flags,
        &[("IOGATE_DISK", "/mnt/c")],
        "disk = \"/mnt/d\"",
        "",
    );
    let disks = config.expect("sound").config.disk;
    assert_eq!(disks, [PathBuf::from("/mnt/a"), PathBuf::from("/mnt/b")]);
}

#[test]
fn an_empty_disk_is_told_as_the_unset_variable_it_is() {
    let nowhere: &[(&str, &str)] = &[];
    for (flags, vars, local) in [
        (&[("disk", "")][..], nowhere, ""),
        (&[("disk", " ")], nowhere, ""),
        (&[("disk", "/mnt/a"), ("disk", "")], nowhere, ""),
        (nowhere, &[("IOGATE_DISK", "")][..], ""),
        (nowhere, &[("IOGATE_DISK", "/mnt/a:")], ""),
        (nowhere, &[("IOGATE_DISK", ":")], ""),
        (nowhere, nowhere, "disk = \"\""),
        (nowhere, nowhere, "disk = []"),
    ] {
        let error = error(flags, vars, local, "");
        assert!(error.contains("found an empty name"), "{error}");
        assert!(error.contains("an unset shell variable"), "{error}");
    }
}

#[test]
fn what_names_a_disk_of_one_host_is_refused_in_the_committed_file() {
    for key in ["disk", "destroy"] {
        let error = error(
            &[],
            &[],
            "",
            &format!("strict = true\n{key} = \"/dev/sda\""),
        );
        assert!(
            error.starts_with(&format!("{FILE}:2:1: {key}: ")),
            "{error}"
        );
        assert!(error.contains("iogate.local.toml"), "{error}");
    }
}

#[test]
fn unknown_keys_name_their_place_and_the_nearest_one() {
    for (error, expected) in [
        (
            error(&[("disc", "/a")], &[], "", ""),
            "flag --disc: disc: found an unknown key \"disc\"",
        ),
        (
            error(&[("disc", "/a")], &[], "", ""),
            "did you mean `disk`?",
        ),
        (
            error(&[], &[("IOGATE_DISC", "/a")], "", ""),
            "did you mean `IOGATE_DISK`?",
        ),
        (
            error(&[], &[("IOGATE_MAXWRITE", "")], "", ""),
            "did you mean `IOGATE_MAX_WRITE`?",
        ),
        (
            error(&[], &[("IOGATE_LOGS", "")], "", ""),
            "did you mean `IOGATE_LOG`?",
        ),
        (
            error(&[], &[], "strict = true\n max_write = 1", ""),
            ".local.toml:2:2: max_write: found an unknown key",
        ),
        (
            error(&[], &[], "", "[run]\nstrict = true"),
            "iogate.toml:1:2: run: found an unknown key \"run\"",
        ),
    ] {
        assert!(error.contains(expected), "{expected}: {error}");
    }
}

#[test]
fn wrong_values_list_the_right_ones() {
    for (error, expected) in [
        (
            error(&[], &[("IOGATE_UPDATE", "bogus")], "", ""),
            "allowed: auto, new, always, no",
        ),
        (
            error(&[], &[("IOGATE_UPDATE", "")], "", ""),
            "variable IOGATE_UPDATE: update: found \"\"",
        ),
        (
            error(&[("match", "modle")], &[], "", ""),
            "did you mean `model`?",
        ),
        (
            error(&[("max-write", "64G")], &[], "", ""),
            "64 GiB (68719476736 B) or 64 GB",
        ),
        (
            error(&[("gap", "30")], &[], "", ""),
            "allowed: a time with a unit",
        ),
        (
            error(&[("strict", "on")], &[], "", ""),
            "allowed: true or false",
        ),
        (
            error(&[("max-undecided", "0")], &[], "", ""),
            "a whole number from 1",
        ),
        (
            error(&[("disk-name", "../x")], &[], "", ""),
            "a folder name",
        ),
        (error(&[("disk", "/a\u{1b}[2J")], &[], "", ""), "\\u{1b}"),
        (
            error(&[("gap", "1s"), ("gap", "2s")], &[], "", ""),
            "found a second value \"2s\"",
        ),
        (
            error(&[], &[], "", "strict = \"yes\""),
            "iogate.toml:1:10: strict: found \"yes\"",
        ),
        (error(&[], &[], "", "strict = \"yes\""), "without quotes"),
        (
            error(&[], &[], "", "max-write = 64"),
            "units are always written",
        ),
        (
            error(&[], &[], "", "max-undecided = -1"),
            "a whole number from 1",
        ),
        (error(&[], &[], "", "gap = 30s"), "iogate.toml:1:"),
    ] {
        assert!(error.contains(expected), "{expected}: {error}");
    }
}

#[test]
fn a_wrong_value_is_told_even_where_a_higher_layer_overrules_it() {
    let told = error(
        &[("update", "no")],
        &[("IOGATE_UPDATE", "bogus")],
        "",
        "gap = 1\nstrict = 1",
    );
    assert_eq!(told.lines().count(), 3, "{told}");
}

#[test]
fn the_variables_between_our_own_processes_and_foreign_ones_are_left_alone() {
    let mut vars: Vec<_> = INTERNAL_VARIABLES.map(|name| (name, "anything")).to_vec();
    vars.push(("PATH", ""));
    vars.push(("iogate_disk", "x"));
    assert_eq!(
        resolve(&[], &vars, "", "").expect("ignored").config,
        Config::default()
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_it_panic(name in "\\PC{0,12}", value in ".{0,20}", file in "[a-z=\"\\[\\]\n -]{0,60}") {
        let flags = [(name.clone(), value.clone())];
        let vars = [(format!("IOGATE_{name}"), value)];
        let _ = Config::resolve(&flags, &vars, Some(("l", &file)), Some(("f", &file)));
    }
}
