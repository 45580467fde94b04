//! The architecture as a test: who may import whom, where `unsafe` may stand, and what the core may not touch.
//!
//! The rules are `rules`', reading Rust into paths is `source`'s. Text goes in and complaints come out, so the same
//! checker that reads `src/` is fed fixtures that must fail.

mod rules;
mod source;

use std::path::{Path, PathBuf};

use crate::Case;
use rules::check;

/// The tests of this module.
pub(crate) const CASES: &[Case] = &[
    Case::plain(
        "arch::every_arrow_in_src_points_the_right_way",
        src_keeps_the_rules,
    ),
    Case::plain(
        "arch::core_must_not_import_an_edge_or_a_shell",
        core_imports_core_only,
    ),
    Case::plain(
        "arch::core_must_not_import_a_later_step",
        core_keeps_the_order,
    ),
    Case::plain(
        "arch::an_edge_must_not_import_another_edge",
        edges_are_strangers,
    ),
    Case::plain("arch::core_must_not_touch_the_world", core_is_pure),
    Case::plain("arch::unsafe_stands_in_two_places", unsafe_is_fenced),
    Case::plain("arch::printing_is_for_shells", printing_is_fenced),
    Case::plain(
        "arch::every_module_has_a_place_in_the_table",
        unknown_modules_are_named,
    ),
    Case::plain(
        "arch::comments_strings_and_tests_are_told_apart_from_code",
        text_is_not_code,
    ),
];

/// Every `.rs` file below `folder`.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            found.extend(files_below(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn src_keeps_the_rules() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = files_below(&src);
    assert!(
        files.len() > 10,
        "only {} files below {}",
        files.len(),
        src.display()
    );
    let texts: Vec<_> = files
        .iter()
        .map(|path| {
            let text = std::fs::read_to_string(path);
            let text = text.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            (path.strip_prefix(&src).expect("below src").to_owned(), text)
        })
        .collect();
    let complaints: Vec<String> = check(&texts).iter().map(ToString::to_string).collect();
    assert!(
        complaints.is_empty(),
        "wrong arrows:\n{}",
        complaints.join("\n")
    );
}

/// The complaints of a fixture, as `line: what`.
fn complaints(file: &str, text: &str) -> Vec<String> {
    check(&[(file.into(), text.to_owned())])
        .into_iter()
        .map(|c| format!("{}: {}", c.line, c.what))
        .collect()
}

#[track_caller]
fn assert_fails(file: &str, text: &str, line: usize, word: &str) {
    let found = complaints(file, text);
    assert!(
        matches!(&found[..], [one] if one.starts_with(&format!("{line}: ")) && one.contains(word)),
        "{file} with {text:?}: expected one complaint at line {line} about {word}, found {found:?}"
    );
}

#[track_caller]
fn assert_passes(file: &str, text: &str) {
    let found = complaints(file, text);
    assert!(found.is_empty(), "{file} with {text:?}: {found:?}");
}

fn core_imports_core_only() {
    assert_fails(
        "plan.rs",
        "use std::fmt;\n\nuse crate::store::Store;\n",
        3,
        "`plan` imports `store`",
    );
    assert_fails(
        "stats/mod.rs",
        "fn f() { crate::pipeline::run() }",
        1,
        "only shells see shells",
    );
    assert_fails(
        "verdict.rs",
        "use crate::{\n    facts::Facts,\n    engine::Engine,\n};",
        3,
        "`verdict` imports `engine`",
    );
    assert_fails(
        "verdict.rs",
        "use super::device::look;",
        1,
        "`verdict` imports `device`",
    );
    assert_fails(
        "suite/metric.rs",
        "use super::super::report;",
        1,
        "`suite` imports `report`",
    );
    assert_fails(
        "verdict.rs",
        "mod tests { use super::super::device::look; }",
        1,
        "`verdict` imports `device`",
    );
    assert_fails("record.rs", "use crate::Gate;", 1, "not a module");
    assert_passes(
        "suite/metric.rs",
        "use super::Gate;\nmod tests { use super::*; use super::super::Test; }",
    );
}

fn core_keeps_the_order() {
    assert_fails(
        "sample.rs",
        "use crate::verdict::Verdict;",
        1,
        "later on the line",
    );
    assert_fails(
        "units.rs",
        "pub fn f(x: &crate::suite::Test) {}",
        1,
        "later on the line",
    );
    assert_passes(
        "verdict.rs",
        "use crate::{baseline::Accepted, stats, units::{Bytes, Nanos}};",
    );
}

fn edges_are_strangers() {
    assert_fails(
        "engine/psync.rs",
        "use crate::device::stack::{Leaf, Top};",
        1,
        "another edge",
    );
    assert_fails(
        "report/junit.rs",
        "use crate::harness::Harness;",
        1,
        "only shells see shells",
    );
    assert_passes(
        "engine/psync.rs",
        "use crate::{engine::Engine, plan::Plan};",
    );
    assert_passes("pipeline.rs", "use crate::{engine, store, harness};");
}

fn core_is_pure() {
    assert_fails(
        "config.rs",
        "fn f() {\n    let _ = std::env::var(\"IOGATE_DISK\");\n}",
        2,
        "std::env::var",
    );
    assert_fails(
        "plan.rs",
        "use std::time::{Duration, Instant};",
        1,
        "std::time::Instant",
    );
    assert_fails(
        "baseline.rs",
        "use std::{collections::BTreeMap, fs};",
        1,
        "std::fs",
    );
    assert_passes(
        "plan.rs",
        "use std::time::Duration;\nuse std::path::PathBuf;",
    );
    assert_passes("store.rs", "use std::fs;");
    assert_passes(
        "baseline.rs",
        "#[cfg(test)]\nmod tests {\n    use std::fs;\n}",
    );
}

fn unsafe_is_fenced() {
    assert_fails(
        "store.rs",
        "\nfn f() { unsafe { g() } }",
        2,
        "`unsafe` outside",
    );
    assert_fails("device/mod.rs", "unsafe fn f() {}", 1, "`unsafe` outside");
    assert_passes("device/sys.rs", "fn f() { unsafe { g() } }");
    assert_passes("engine/uring.rs", "fn f() { unsafe { g() } }");
    assert_passes("lib.rs", "#![deny(unsafe_op_in_unsafe_fn)]");
}

fn printing_is_fenced() {
    assert_fails(
        "report/terminal.rs",
        "fn f() { println!(\"x\") }",
        1,
        "`println!` outside",
    );
    assert_fails(
        "pipeline.rs",
        "fn f() { std::eprintln!(\"x\") }",
        1,
        "`eprintln!` outside",
    );
    assert_passes("cli/run.rs", "fn f() { println!(\"x\"); eprintln!(\"y\") }");
    assert_passes(
        "report/terminal.rs",
        "fn f(w: &mut W) { writeln!(w, \"x\") }",
    );
}

fn unknown_modules_are_named() {
    assert_fails("helpers.rs", "fn f() {}", 1, "`helpers` has no place");
    assert_fails(
        "helpers/deep/more.rs",
        "fn f() {}",
        1,
        "`helpers` has no place",
    );
}

fn text_is_not_code() {
    assert_passes(
        "units.rs",
        "//! See [`crate::store`].\n/* unsafe /* crate::cli */ println!() */\nfn f() {}",
    );
    assert_passes(
        "units.rs",
        "const A: &str = \"crate::store \\\" unsafe\"; const B: &str = r#\"std::fs::read(\"x\")\"#;",
    );
    assert_passes(
        "units.rs",
        "fn f<'a>(c: char, s: &'a str) -> bool { c == '\"' || c == '\\'' || s == \"std::fs\" }",
    );
    assert_fails(
        "units.rs",
        "const Q: char = '\"'; use crate::cli; // \"",
        1,
        "`units` imports `cli`",
    );
    assert_fails(
        "units.rs",
        "/* a\nb */ use crate::cli;",
        2,
        "`units` imports `cli`",
    );
    // The test module ends where its brace does.
    assert_fails(
        "units.rs",
        "#[cfg(test)] mod t { fn f() { { } } }\nuse std::fs;",
        2,
        "std::fs",
    );
    // So does what is declared for tests alone and lies in a file of its own.
    let declared = |attribute: &str| {
        let parent = format!("{attribute}\nmod live;\nmod other;");
        let files = [
            ("device/mod.rs", parent.as_str()),
            ("device/live/deep.rs", "fn f() { println!() }"),
        ];
        check(&files.map(|(file, text)| (file.into(), text.to_owned()))).len()
    };
    assert_eq!(declared("#[cfg(test)]"), 0);
    assert_eq!(declared("#[cfg(all(test, target_os = \"linux\"))]"), 0);
    assert_eq!(declared("#[cfg(not(test))]"), 1);
    assert_eq!(declared(""), 1);
}
