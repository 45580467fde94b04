//! What a test may be called.
//!
//! Names are typed into shells, shown by cargo and nextest, and become parts of file names.

use std::sync::LazyLock;

use regex::Regex;

/// The rule of a test's name, with or without its suite's.
static NAME: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\A[A-Za-z0-9_:./-]+\z").expect("a pattern written here"));

/// Whether a test may be called so.
pub(crate) fn is_name(text: &str) -> bool {
    NAME.is_match(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_letters_digits_and_a_few_marks() {
        for name in ["a", "readers::workers-5", "block-4KiB/x_1.2"] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "a b", "a\n", "\na", "é", "a'", "$a", "a\0", "a\u{202e}"] {
            assert!(!is_name(name), "{name:?}");
        }
    }
}
