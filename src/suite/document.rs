//! The walk over a suite file: `about`, `[defaults]`, `[[test]]`, `[gate]`, and the tests that come of them.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::expand::{self, Draft};
use super::gates::{self, Rule};
use super::keys::{self, PATTERN, Written};
use super::values::{Field, unknown};
use super::written::{self, Fault, Faults, in_order, printable, quote};
use super::{Suite, SuiteError, Test, Workload, canon, fio, is_name, rules};

/// The keys a file may start a line with.
const TOP: [&str; 4] = ["about", "defaults", "test", "gate"];

/// A `[[test]]` as written, the keys of `[defaults]` filled in.
#[derive(Debug)]
pub(super) struct WrittenTest {
    pub(super) name: String,
    pub(super) name_at: usize,
    pub(super) keys: Vec<Written>,
    pub(super) gates: Vec<Rule>,
    /// It holds a key that does not exist, which may have meant one that is missing.
    pub(super) unknown: bool,
}

impl WrittenTest {
    /// Whether some value could not be read, so that nothing more can be said about the test.
    fn spoilt(&self) -> bool {
        self.keys.iter().any(|key| key.spoilt)
    }
}

/// Reads a suite: `name` is the file's stem, `path` is what errors call the file, `text` what it holds.
///
/// # Errors
/// Everything that is wrong with the text, in its order.
pub fn parse(name: &str, path: &str, text: &str) -> Result<Suite, Vec<SuiteError>> {
    let mut faults = Faults::default();
    check_suite_name(name, &mut faults);
    let suite = match written::document(text) {
        Ok(table) => read(name, &table, &mut faults),
        Err(syntax) => {
            faults.extend(syntax);
            None
        }
    };
    match suite {
        Some(suite) if faults.is_empty() => Ok(suite),
        _ => {
            let located = |fault| SuiteError::at(path, text, fault);
            Err(faults.sorted().into_iter().map(located).collect())
        }
    }
}

fn read(name: &str, table: &Spanned<DeTable<'_>>, faults: &mut Faults) -> Option<Suite> {
    let (mut about, mut defaults, mut tests, mut rules) = (None, Vec::new(), None, Vec::new());
    let top = in_order(table.get_ref());
    // Tests take their defaults with them, wherever in the file those stand.
    if let Some((_, _, value)) = top.iter().find(|(key, ..)| *key == "defaults") {
        defaults = read_defaults(Field::new("defaults", value), faults);
    }
    for (key, span, value) in top {
        let field = Field::new(key, value);
        match key {
            "about" => about = faults.note(read_about(field)),
            "defaults" => {}
            "test" => tests = read_tests(field, &defaults, faults),
            "gate" => rules = gates::read(field, faults),
            _ => faults.push(unknown_at_top(key, span.start)),
        }
    }
    let Some(tests) = tests else {
        if faults.is_empty() {
            let found = "no [[test]]";
            faults.push(Fault::new(
                0,
                "test",
                found,
                "at least one [[test]] with `name` and `rw` or `pair`",
            ));
        }
        return None;
    };
    let drafts = expand::drafts(&tests, faults)?;
    let tests = build(name, &tests, &drafts, &rules, faults)?;
    let gated_metrics = tests[..].iter().map(gates::weight).sum();
    let tests = tests.into_iter().map(|test| Test {
        gated_metrics,
        ..test
    });
    Some(Suite {
        name: name.to_owned(),
        about,
        tests: tests.collect(),
        gated_metrics,
    })
}

/// Turns drafts into tests; `None` when a rule is broken somewhere, since gate keys cannot be checked then.
fn build(
    suite: &str,
    written: &[WrittenTest],
    drafts: &[Draft<'_>],
    rules: &[Rule],
    faults: &mut Faults,
) -> Option<Vec<Test>> {
    let workloads: Vec<Option<Workload>> = drafts
        .iter()
        .map(|draft| rules::workload(&draft.picks, faults))
        .collect();
    // A workload that could not be built might have yielded the metric, so only whole sets are checked.
    let check = |rules: &[Rule], of: &[&Option<Workload>], whose: &str, faults: &mut Faults| {
        let built: Vec<&Workload> = of.iter().filter_map(|workload| workload.as_ref()).collect();
        if built.len() == of.len() && !of.is_empty() {
            gates::check_yield(rules, &built, whose, faults);
        }
    };
    for test in written {
        let pairs = drafts.iter().zip(&workloads);
        let mine = pairs.filter(|(draft, _)| std::ptr::eq(draft.test, test));
        let mine: Vec<_> = mine.map(|(_, workload)| workload).collect();
        check(&test.gates, &mine, "the test", faults);
    }
    if !written.iter().any(WrittenTest::spoilt) {
        let all: Vec<_> = workloads.iter().collect();
        check(rules, &all, "the suite", faults);
    }
    let tests = drafts.iter().zip(workloads).map(|(draft, workload)| {
        let workload = workload?;
        let gates = gates::resolve(&workload, rules, &draft.test.gates);
        Some(Test {
            suite: suite.to_owned(),
            name: draft.name.clone(),
            text: canon::hash(&workload, &gates),
            workload,
            gates,
            slow: draft.picks.slow(),
            advisory: draft.picks.advisory(),
            budget: draft.picks.budget(),
            gated_metrics: 0,
        })
    });
    tests.collect()
}

/// The stem of the file is the first part of every test's name and names the baseline's file.
fn check_suite_name(name: &str, faults: &mut Faults) {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    let sound = !name.is_empty() && name.len() <= 100 && name.chars().all(plain);
    if !sound || name.starts_with(['.', '-']) {
        let found = format!("a suite file named {}", quote(name));
        let allowed =
            "a name of letters, digits, `_`, `.` and `-` that starts with none of the last two";
        faults.push(Fault::new(0, "", found, allowed).hint("rename the file"));
    }
}

fn read_about(field: Field<'_, '_>) -> Result<String, Fault> {
    const LIKE: &str = "one sentence in quotes: why this suite exists";
    let text = field.text(LIKE)?.trim();
    if text.is_empty() || text.chars().any(|c| c.is_control() && c != '\n') {
        return Err(field.fault(LIKE));
    }
    Ok(text.to_owned())
}

fn unknown_at_top(key: &str, at: usize) -> Fault {
    let mut fault = unknown(at, key, key, TOP);
    if keys::names().any(|name| name == key) || fio::option(key).is_some() {
        let first = fault
            .hint
            .map_or_else(String::new, |hint| format!("{hint}; "));
        fault.hint = Some(format!(
            "{first}keys of a test stand in a [[test]] or below [defaults]"
        ));
    }
    fault
}

fn read_defaults(field: Field<'_, '_>, faults: &mut Faults) -> Vec<Written> {
    let DeValue::Table(table) = field.value.get_ref() else {
        faults.push(field.fault("a [defaults] table"));
        return Vec::new();
    };
    let mut written = Vec::new();
    for (name, span, value) in in_order(table) {
        match name {
            "name" => faults.push(
                Fault::new(
                    span.start,
                    "defaults.name",
                    "a name for all tests",
                    "no `name` here",
                )
                .hint("every [[test]] has a name of its own"),
            ),
            "gate" => faults.push(
                Fault::new(span.start, "defaults.gate", "gate keys", "no `gate` here")
                    .hint("gate keys for the whole suite stand below [gate]"),
            ),
            _ => written.extend(read_key("defaults", name, span.start, value, faults)),
        }
    }
    check_groups("defaults", &written, faults);
    for key in &mut written {
        key.default = true;
    }
    written
}

/// One key of a test or of the defaults; an unknown one is noted.
fn read_key(
    place: &str,
    name: &str,
    at: usize,
    value: &written::Value<'_>,
    faults: &mut Faults,
) -> Option<Written> {
    let dotted = format!("{place}.{name}");
    let Some(row) = keys::find(name, value.get_ref()) else {
        faults.push(unknown(at, &dotted, name, keys::names()));
        return None;
    };
    Some(Written::read(row, at, Field::new(&dotted, value), faults))
}

/// At most one key of a group in one place.
fn check_groups(place: &str, written: &[Written], faults: &mut Faults) {
    for (i, key) in written.iter().enumerate() {
        let earlier = written[..i].iter().find(|k| k.row.group == key.row.group);
        let Some(earlier) = earlier else { continue };
        let found = format!("`{}` beside `{}`", key.row.name, earlier.row.name);
        let allowed = match key.row.group {
            PATTERN => "exactly one of rw, pair and [[test.leg]]",
            _ => "one of leg and time",
        };
        faults.push(Fault::new(
            key.at,
            format!("{place}.{}", key.row.name),
            found,
            allowed,
        ));
    }
}

/// All tests; `None` when there is no list of tests.
fn read_tests(
    field: Field<'_, '_>,
    defaults: &[Written],
    faults: &mut Faults,
) -> Option<Vec<WrittenTest>> {
    const LIKE: &str = "[[test]] tables";
    let DeValue::Array(items) = field.value.get_ref() else {
        let fault = field.fault(LIKE);
        faults.push(fault.hint("two pairs of brackets make a list of tests: [[test]]"));
        return None;
    };
    if items.is_empty() {
        faults.push(field.fault(LIKE).hint("an empty suite tests nothing"));
        return None;
    }
    let mut tests = Vec::new();
    for item in items.iter() {
        let field = Field::new("test", item);
        match item.get_ref() {
            DeValue::Table(table) => tests.extend(read_test(field, table, defaults, faults)),
            _ => faults.push(field.fault(LIKE)),
        }
    }
    Some(tests)
}

fn read_test(
    field: Field<'_, '_>,
    table: &DeTable<'_>,
    defaults: &[Written],
    faults: &mut Faults,
) -> Option<WrittenTest> {
    let (mut name, mut written, mut rules) = (None, Vec::new(), Vec::new());
    let mut unknown = false;
    for (key, span, value) in in_order(table) {
        match key {
            "name" => name = Some(Field::new("test.name", value)),
            "gate" => rules = gates::read(Field::new("test.gate", value), faults),
            _ => match read_key("test", key, span.start, value, faults) {
                Some(key) => written.push(key),
                None => unknown = true,
            },
        }
    }
    check_groups("test", &written, faults);
    let kept = |default: &&Written| !written.iter().any(|own| own.row.group == default.row.group);
    let filled: Vec<_> = defaults.iter().filter(kept).cloned().collect();
    written.extend(filled);
    let Some(name) = name else {
        let found = "a test without a name";
        faults.push(Fault::new(
            field.at(),
            "test",
            found,
            "name = \"…\" in every [[test]]",
        ));
        return None;
    };
    let test = WrittenTest {
        name_at: name.at(),
        name: faults.note(read_name(name))?,
        keys: written,
        gates: rules,
        unknown,
    };
    Some(test)
}

/// A name by the rule of all names that leads nowhere else as a path.
fn read_name(field: Field<'_, '_>) -> Result<String, Fault> {
    const LIKE: &str = "a name of letters, digits and `_ : . / -`, at most 120 of them";
    let name = field.text(LIKE)?;
    if name.len() > 120 || !is_name(name) {
        return Err(field.fault(LIKE));
    }
    let leaves = name.split('/').any(|part| matches!(part, "" | "." | ".."));
    if leaves || name.starts_with(['-', ':']) || name.ends_with(':') || name.contains("..") {
        return Err(field.fault(LIKE).hint(format!(
            "{} would leave its folder or read as a flag: no leading or trailing `/` or `:`, no leading `-`, no `//`, \
             no `.` or `..` between slashes",
            printable(name)
        )));
    }
    Ok(name.to_owned())
}
