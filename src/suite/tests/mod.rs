//! The suite grammar from outside: what is read (`reading`), what is refused (`slips`), and text nobody meant.

mod reading;
mod slips;

use proptest::prelude::*;

use super::{Suite, Test, keys, parse};

pub(super) fn suite(text: &str) -> Suite {
    parse("s", "suites/s.toml", text).unwrap_or_else(|errors| {
        let lines: Vec<_> = errors.iter().map(ToString::to_string).collect();
        panic!("{}", lines.join("\n"))
    })
}

/// A suite of one test with these lines below `name = "t"`.
pub(super) fn test(lines: &str) -> Test {
    let suite = suite(&format!("[[test]]\nname = \"t\"\n{lines}"));
    suite.tests.into_iter().next().expect("one test")
}

pub(super) fn errors(text: &str) -> Vec<String> {
    let errors = parse("s", "s.toml", text).expect_err("nothing wrong was found");
    errors.iter().map(ToString::to_string).collect()
}

/// The errors of one test with these lines, which start at line 3.
pub(super) fn test_errors(lines: &str) -> String {
    errors(&format!("[[test]]\nname = \"t\"\n{lines}")).join("\n")
}

pub(super) fn names(text: &str) -> Vec<String> {
    suite(text)
        .tests
        .iter()
        .map(|test| test.name.clone())
        .collect()
}

pub(super) fn gates(test: &Test) -> Vec<String> {
    test.gates.keys().map(ToString::to_string).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_it_panic(text in ".*", path in ".*") {
        let _ = parse(&text, &path, &text);
    }

    #[test]
    fn no_text_close_to_a_suite_makes_it_panic(lines in prop::collection::vec(line(), 0..12)) {
        if let Err(errors) = parse("s", "s.toml", &lines.join("\n")) {
            prop_assert!(!errors.is_empty());
            for error in errors {
                prop_assert!(error.line >= 1 && error.column >= 1);
                prop_assert!(!error.to_string().chars().any(char::is_control));
            }
        }
    }

    #[test]
    fn every_test_that_comes_out_has_a_sound_and_unique_name(lines in prop::collection::vec(line(), 0..12)) {
        let text = format!("[[test]]\nname = \"t\"\nrw = \"read\"\n{}", lines.join("\n"));
        if let Ok(suite) = parse("s", "s.toml", &text) {
            let mut names: Vec<_> = suite.tests.iter().map(Test::full_name).collect();
            for name in &names {
                prop_assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_:./-".contains(&b)), "{name}");
                prop_assert!(!name.contains(".."), "{name}");
            }
            let all = names.len();
            names.sort();
            names.dedup();
            prop_assert_eq!(names.len(), all);
        }
    }
}

/// A line as someone might write it who has seen a suite once.
fn line() -> impl Strategy<Value = String> {
    let keys: Vec<_> = keys::names()
        .chain(["about", "defaults", "test"])
        .chain(["bs", "ratio", "seq.read", "\"\\u0007\""])
        .collect();
    let values = [
        "1",
        "-1",
        "0",
        "[1, 2]",
        "[]",
        "[[1]]",
        "\"read\"",
        "[\"read\", \"write\"]",
        "\"4KiB\"",
        "\"4k\"",
        "true",
        "nan",
        "{}",
        "{ min = 1 }",
        "{ count = 1, size = \"1B\" }",
        "\"0%..5%\"",
        "\"null\"",
        "[\"x\", \"../..\"]",
        "\"\\u001b\"",
        "1979-05-27",
        "\"\"\"",
        "",
    ];
    let heads = [
        "[[test]]",
        "[[test.leg]]",
        "[test]",
        "[gate]",
        "[test.gate]",
        "[defaults]",
        "[gate.seq]",
        "]",
    ];
    prop_oneof![
        3 => (prop::sample::select(keys), prop::sample::select(values.to_vec()))
            .prop_map(|(key, value)| format!("{key} = {value}")),
        1 => prop::sample::select(heads.to_vec()).prop_map(str::to_owned),
    ]
}
