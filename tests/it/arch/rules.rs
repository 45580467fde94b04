//! The rules: one table of modules and their order, and what each kind must not do.

use std::fmt;
use std::path::{Path, PathBuf};

use super::source::Source;

/// Core modules in the order of the line: each may import the ones before it.
const CORE: &[&str] = &[
    "units", "suite", "config", "facts", "plan", "sample", "stats", "baseline", "verdict", "record",
];
/// Edges import core, never one another.
const EDGES: &[&str] = &["store", "device", "engine", "report"];
/// Shells put core and edges together.
const SHELLS: &[&str] = &["pipeline", "harness", "cli", "main", "lib", "guide"];
/// Shells that write for a person.
const PRINTERS: &[&str] = &["harness", "cli", "main"];
/// Where `unsafe` may stand: a folder ends in `/`.
const UNSAFE: &[&str] = &["engine/", "device/sys.rs"];
/// What the core leaves to the edges, as path prefixes.
const WORLD: &[&str] = &[
    "std::env",
    "std::fs",
    "std::io::stdin",
    "std::io::stdout",
    "std::io::stderr",
    "std::net",
    "std::os",
    "std::process",
    "std::thread",
    "std::time::Instant",
    "std::time::SystemTime",
    "nix",
    "rustix",
    "tempfile",
];
/// Named, not used: the contract between engine and device speaks of an open file.
const NAMED: &[(&str, &str)] = &[("sample", "std::fs::File")];
/// Macros that print.
const PRINT: &[&str] = &["print", "println", "eprint", "eprintln", "dbg"];

/// A broken rule, at a place.
#[derive(Debug, PartialEq)]
pub(super) struct Complaint {
    pub(super) file: PathBuf,
    pub(super) line: usize,
    pub(super) what: String,
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "src/{}:{}: {}",
            self.file.display(),
            self.line,
            self.what
        )
    }
}

/// Every broken rule of these files, named by their paths below `src/`.
pub(super) fn check(files: &[(PathBuf, String)]) -> Vec<Complaint> {
    let read = |(file, text): &(PathBuf, String)| (file.clone(), Source::read(file, text));
    let sources: Vec<_> = files.iter().map(read).collect();
    let tests: Vec<_> = sources.iter().flat_map(|(_, s)| &s.test_modules).collect();
    // By name too: a `#[path]` hides where a declared module lies.
    let named = |s: &Source| s.home.last().is_some_and(|n| n.ends_with("tests"));
    let is_test = |s: &Source| named(s) || tests.iter().any(|t| s.home.starts_with(t));
    let broken = sources
        .iter()
        .flat_map(|(file, source)| check_one(file, source, is_test(source)));
    broken.collect()
}

fn check_one(file: &Path, source: &Source, test_file: bool) -> Vec<Complaint> {
    let module = source.module.clone();
    let complain = |line, what| Complaint {
        file: file.to_owned(),
        line,
        what,
    };
    let mut found = Vec::new();
    if !known(&module) {
        found.push(complain(
            1,
            format!("module `{module}` has no place in the table of tests/it/arch/rules.rs"),
        ));
    }
    for path in &source.paths {
        if let [root, target, ..] = &path.segments[..]
            && root == "crate"
            && let Some(reason) = wrong_arrow(&module, target)
        {
            found.push(complain(
                path.line,
                format!("`{module}` imports `{target}`: {reason}"),
            ));
        }
        let name = path.segments.join("::");
        let world = WORLD
            .iter()
            .any(|w| name == *w || name.starts_with(&format!("{w}::")));
        let named = NAMED.contains(&(module.as_str(), name.as_str()));
        if world && !named && !path.in_test && !test_file && CORE.contains(&module.as_str()) {
            found.push(complain(
                path.line,
                format!("`{name}` in core: it has no files, clocks, environment or threads"),
            ));
        }
    }
    for call in &source.macros {
        if PRINT.contains(&call.name.as_str())
            && !call.in_test
            && !test_file
            && !PRINTERS.contains(&module.as_str())
        {
            found.push(complain(
                call.line,
                format!("`{}!` outside {}", call.name, PRINTERS.join(", ")),
            ));
        }
    }
    let slashed = file.to_string_lossy().replace('\\', "/");
    if !UNSAFE
        .iter()
        .any(|place| slashed == *place || place.ends_with('/') && slashed.starts_with(place))
    {
        found.extend(
            source
                .unsafe_lines
                .iter()
                .map(|&l| complain(l, format!("`unsafe` outside {}", UNSAFE.join(", ")))),
        );
    }
    found.dedup();
    found
}

fn known(module: &str) -> bool {
    CORE.contains(&module) || EDGES.contains(&module) || SHELLS.contains(&module)
}

/// Why `from` may not import `to`, or `None` where it may.
fn wrong_arrow(from: &str, to: &str) -> Option<String> {
    let place = |name: &str| CORE.iter().position(|m| *m == name);
    if from == to || SHELLS.contains(&from) {
        return None;
    }
    if SHELLS.contains(&to) {
        return Some("only shells see shells".to_owned());
    }
    match (place(from), place(to)) {
        (Some(i), Some(j)) if j < i => None,
        (Some(_), Some(_)) => Some(format!("it comes later on the line ({})", CORE.join(" "))),
        (Some(_), None) if EDGES.contains(&to) => Some("core never imports an edge".to_owned()),
        (None, Some(_)) => None,
        (None, None) if EDGES.contains(&to) => {
            Some("an edge never imports another edge".to_owned())
        }
        _ => Some("not a module: name the module it comes from, not the crate's root".to_owned()),
    }
}
