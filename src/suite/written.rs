//! What a person wrote and where: faults with their place in the text, values shown as written, nearest words.
//!
//! Shared by suite files and the configuration; knows no key of either.

use std::fmt;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A TOML value with its place.
pub(crate) type Value<'a> = Spanned<DeValue<'a>>;

/// Something written that cannot be meant, at a byte offset of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Byte offset into the text.
    pub(crate) at: usize,
    /// The key concerned, dotted: `test.block`; empty for the text as a whole.
    pub(crate) key: String,
    /// What was found.
    pub(crate) found: String,
    /// What is allowed instead.
    pub(crate) allowed: String,
    /// What to do, where more than `allowed` can be said.
    pub(crate) hint: Option<String>,
}

impl Fault {
    pub(crate) fn new(
        at: usize,
        key: impl Into<String>,
        found: impl Into<String>,
        allowed: impl Into<String>,
    ) -> Self {
        Self {
            at,
            key: key.into(),
            found: found.into(),
            allowed: allowed.into(),
            hint: None,
        }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Everything found wrong so far; reading goes on after each, so that one look at a file tells all.
#[derive(Debug, Default)]
pub(crate) struct Faults(Vec<Fault>);

impl Faults {
    /// Faults of one text that are told one by one.
    const MOST: usize = 100;

    pub(crate) fn push(&mut self, fault: Fault) {
        self.0.push(fault);
    }

    /// The value, or a note of why there is none.
    pub(crate) fn note<T>(&mut self, read: Result<T, Fault>) -> Option<T> {
        read.map_err(|fault| self.push(fault)).ok()
    }

    pub(crate) fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The faults in the order of the text, each once: a wrong default is told once, not once a test.
    pub(crate) fn sorted(mut self) -> Vec<Fault> {
        self.0.sort_by_key(|fault| fault.at);
        let mut seen = Vec::<Fault>::new();
        for fault in self.0 {
            let same_place = seen.iter().rev().take_while(|f| f.at == fault.at);
            if !same_place.into_iter().any(|f| *f == fault) {
                seen.push(fault);
            }
        }
        if seen.len() > Self::MOST {
            let at = seen[Self::MOST].at;
            let found = format!("{} more faults from here on", seen.len() - Self::MOST);
            seen.truncate(Self::MOST);
            seen.push(Fault::new(
                at,
                "",
                found,
                "none; the first ones may be their cause",
            ));
        }
        seen
    }
}

/// One line of a message: `key: found …, allowed …; hint`.
pub(crate) fn sentence(
    f: &mut fmt::Formatter<'_>,
    key: &str,
    found: &str,
    allowed: &str,
    hint: Option<&str>,
) -> fmt::Result {
    if !key.is_empty() {
        write!(f, "{key}: ")?;
    }
    write!(f, "found {found}, allowed: {allowed}")?;
    match hint {
        Some(hint) => write!(f, "; {hint}"),
        None => Ok(()),
    }
}

/// Line and column of a byte offset, both from 1, columns in characters.
pub(crate) fn place(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..floor(text, at)];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.bytes().filter(|&b| b == b'\n').count() + 1;
    (line, before[line_start..].chars().count() + 1)
}

/// Parses TOML; all its syntax errors as faults when there are any.
pub(crate) fn document(text: &str) -> Result<Spanned<DeTable<'_>>, Faults> {
    let (table, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        return Ok(table);
    }
    let fault = |e: toml::de::Error| {
        let at = e.span().map_or(text.len(), |span| span.start);
        let before = text[..floor(text, at)].rsplit('\n').next().unwrap_or("");
        let (key, value) = before.split_once('=').unwrap_or(("", ""));
        let fault = Fault::new(
            at,
            printable(key.trim()),
            printable(e.message()),
            "TOML 1.1",
        );
        if key.is_empty() || value.contains(['"', '\'']) {
            return fault;
        }
        fault.hint("words and values with a unit stand in quotes: size = \"4GiB\"")
    };
    Err(Faults(errors.into_iter().map(fault).collect()))
}

/// The start of the character `at` lies in.
fn floor(text: &str, mut at: usize) -> usize {
    at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The entries of a table in the order written (the parser sorts them by name).
pub(crate) fn in_order<'t, 'a>(
    table: &'t DeTable<'a>,
) -> Vec<(&'t str, Range<usize>, &'t Value<'a>)> {
    let mut entries: Vec<_> = table
        .iter()
        .map(|(key, value)| (key.get_ref().as_ref(), key.span(), value))
        .collect();
    entries.sort_by_key(|(_, span, _)| span.start);
    entries
}

/// A value as it was written, short, and safe to print on a terminal.
pub(crate) fn show(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => quote(text),
        DeValue::Integer(number) => printable(&number.to_string()),
        DeValue::Float(number) => printable(number.as_str()),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

/// Text in quotes, cut at 60 characters, control characters escaped.
pub(crate) fn quote(text: &str) -> String {
    format!("\"{}\"", printable(text))
}

/// Text cut at 60 characters, control characters escaped: no file can drive a terminal through a message.
pub(crate) fn printable(text: &str) -> String {
    const LONGEST: usize = 60;
    let shown: String = text.chars().take(LONGEST).collect();
    let dots = if shown.len() < text.len() { "…" } else { "" };
    let escaped = shown.chars().flat_map(|c| {
        let plain = !c.is_control() && !is_invisible(c);
        let (plain, escape) = if plain {
            (Some(c), None)
        } else {
            (None, Some(c.escape_unicode()))
        };
        plain.into_iter().chain(escape.into_iter().flatten())
    });
    escaped.collect::<String>() + dots
}

/// Characters that reorder or hide the text around them (Unicode Bidi_Control, zero width).
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// `a`, `b` or `c`.
pub(crate) fn one_of<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    words.into_iter().collect::<Vec<_>>().join(", ")
}

/// `did you mean …?` for a word close to one of the candidates.
pub(crate) fn did_you_mean<'w>(
    word: &str,
    candidates: impl IntoIterator<Item = &'w str>,
) -> Option<String> {
    nearest(word, candidates).map(|near| format!("did you mean `{near}`?"))
}

/// The candidate fewest edits away, if at most a third of the word has to change; case, `-` and `_` do not count.
pub(crate) fn nearest<'w>(
    word: &str,
    candidates: impl IntoIterator<Item = &'w str>,
) -> Option<&'w str> {
    const LONGEST: usize = 40;
    if word.len() > LONGEST {
        return None;
    }
    let plain = |s: &str| -> Vec<char> { s.to_lowercase().replace('_', "-").chars().collect() };
    let word = plain(word);
    candidates
        .into_iter()
        .map(|candidate| (distance(&word, &plain(candidate)), candidate))
        .filter(|&(edits, candidate)| edits <= (word.len().max(candidate.len())).div_ceil(3))
        .filter(|&(edits, candidate)| edits < candidate.len())
        .min_by_key(|&(edits, _)| edits)
        .map(|(_, candidate)| candidate)
}

/// Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut rows = vec![(0..=b.len()).collect::<Vec<_>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let change = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (row[j - 1] + 1)
                .min(rows[i - 1][j] + 1)
                .min(rows[i - 1][j - 1] + change);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_lines_and_characters_from_one() {
        let text = "a = 1\nµµ = 2\n";
        assert_eq!(place(text, 0), (1, 1));
        assert_eq!(place(text, text.find("= 2").expect("there")), (2, 4));
        assert_eq!(place(text, 7), (2, 1), "inside a character");
        assert_eq!(place(text, 999), (3, 1));
        assert_eq!(place("", 0), (1, 1));
    }

    #[test]
    fn the_nearest_word_is_found_and_a_far_one_is_not() {
        let keys = ["block", "depth", "workers", "cache", "on", "max-write"];
        for (typed, meant) in [
            ("blok", Some("block")),
            ("bolck", Some("block")),
            ("Depth", Some("depth")),
            ("worker", Some("workers")),
            ("max_write", Some("max-write")),
            ("no", Some("on")),
            ("zz", None),
            ("", None),
            ("banana", None),
        ] {
            assert_eq!(nearest(typed, keys), meant, "{typed}");
        }
        assert_eq!(nearest(&"x".repeat(100_000), keys), None);
    }

    #[test]
    fn what_is_shown_cannot_drive_a_terminal() {
        let shown = quote("\u{1b}[31m\u{202e}\n");
        assert_eq!(shown, "\"\\u{1b}[31m\\u{202e}\\u{a}\"");
        assert!(quote(&"y".repeat(1000)).chars().count() < 70);
    }
}
