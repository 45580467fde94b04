//! Colour or none, how wide, and text made safe for a terminal.

use std::borrow::Cow;
use std::fmt::Write;

use crate::verdict::Verdict;

/// How to draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// ANSI colours.
    pub color: bool,
    /// Columns of the terminal, or those to assume.
    pub width: usize,
}

/// `--color`, or `CARGO_TERM_COLOR` where the flag is not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColorChoice {
    /// In any case.
    Always,
    /// As environment and terminal tell.
    Auto,
    /// Never.
    Never,
}

/// The variables that have a say in colour, as they stand in the environment.
#[derive(Debug, Clone, Copy, Default)]
pub struct ColorEnv<'a> {
    /// `NO_COLOR`: any text but the empty one (<https://no-color.org>).
    pub no_color: Option<&'a str>,
    /// `CLICOLOR_FORCE`: any text but the empty one and `0` (<https://bixense.com/clicolors>).
    pub clicolor_force: Option<&'a str>,
    /// `CLICOLOR`: `0` turns colour off.
    pub clicolor: Option<&'a str>,
    /// `TERM`: `dumb` knows no colour.
    pub term: Option<&'a str>,
}

impl<'a> ColorEnv<'a> {
    /// Picked from an environment.
    #[must_use]
    pub fn of(vars: &'a std::collections::BTreeMap<String, String>) -> Self {
        let get = |key: &str| vars.get(key).map(String::as_str);
        Self {
            no_color: get("NO_COLOR"),
            clicolor_force: get("CLICOLOR_FORCE"),
            clicolor: get("CLICOLOR"),
            term: get("TERM"),
        }
    }
}

impl ColorChoice {
    /// Reads `always`, `auto` or `never`.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "always" => Some(Self::Always),
            "auto" => Some(Self::Auto),
            "never" => Some(Self::Never),
            _ => None,
        }
    }
}

/// Whether to colour: the choice, then `NO_COLOR`, then `CLICOLOR_FORCE`, then the terminal.
#[must_use]
pub fn color(choice: Option<ColorChoice>, env: ColorEnv<'_>, is_terminal: bool) -> bool {
    let set = |value: Option<&str>| value.is_some_and(|text| !text.is_empty());
    match choice {
        Some(ColorChoice::Always) => true,
        Some(ColorChoice::Never) => false,
        Some(ColorChoice::Auto) | None => {
            if set(env.no_color) {
                false
            } else if set(env.clicolor_force) && env.clicolor_force != Some("0") {
                true
            } else {
                is_terminal && env.clicolor != Some("0") && env.term != Some("dumb")
            }
        }
    }
}

/// What a text says by its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Good,
    Bad,
    Warning,
    Strong,
    Faint,
}

impl Tone {
    /// The tone of a verdict.
    pub(super) fn of(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Pass => Self::Good,
            Verdict::Regressed | Verdict::Invalid | Verdict::Interrupted => Self::Bad,
            Verdict::Inconclusive | Verdict::NoBaseline | Verdict::NotComparable => Self::Warning,
            Verdict::Skipped => Self::Faint,
        }
    }

    /// ANSI "select graphic rendition" parameters (ECMA-48, 8.3.117).
    fn code(self) -> &'static str {
        match self {
            Self::Good => "32",
            Self::Bad => "1;31",
            Self::Warning => "33",
            Self::Strong => "1",
            Self::Faint => "2",
        }
    }
}

impl Style {
    /// The text in its colour, if there is colour.
    pub(super) fn paint<'a>(&self, tone: Tone, text: &'a str) -> Cow<'a, str> {
        if self.color && !text.is_empty() {
            Cow::Owned(format!("\u{1b}[{}m{text}\u{1b}[0m", tone.code()))
        } else {
            Cow::Borrowed(text)
        }
    }
}

/// Text from a file or the kernel with control characters, line separators and direction overrides made visible, so
/// that a name can neither move the cursor nor forge a line.
#[must_use]
pub fn escape(text: &str) -> Cow<'_, str> {
    let unsafe_char = |c: char| {
        c.is_control()
            || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{feff}')
    };
    if !text.contains(unsafe_char) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if unsafe_char(c) => {
                // Writing into a String cannot fail.
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env<'a>(no_color: Option<&'a str>, force: Option<&'a str>) -> ColorEnv<'a> {
        ColorEnv {
            no_color,
            clicolor_force: force,
            ..ColorEnv::default()
        }
    }

    #[test]
    fn the_choice_beats_no_color_beats_the_terminal() {
        use ColorChoice::{Always, Auto, Never};
        let table = [
            (Some(Always), env(Some("1"), None), false, true),
            (Some(Never), env(None, Some("1")), true, false),
            (Some(Auto), env(Some("1"), None), true, false),
            (None, env(Some("1"), Some("1")), true, false),
            (None, env(Some(""), None), true, true),
            (None, env(None, Some("1")), false, true),
            (None, env(None, Some("0")), false, false),
            (None, env(None, None), true, true),
            (None, env(None, None), false, false),
        ];
        for (i, (choice, env, terminal, want)) in table.into_iter().enumerate() {
            assert_eq!(color(choice, env, terminal), want, "row {i}");
        }
        let off = ColorEnv {
            clicolor: Some("0"),
            ..ColorEnv::default()
        };
        let dumb = ColorEnv {
            term: Some("dumb"),
            ..ColorEnv::default()
        };
        assert!(!color(None, off, true) && !color(None, dumb, true));
    }

    #[test]
    fn words_of_the_choice_are_read_and_others_are_not() {
        assert_eq!(ColorChoice::parse("always"), Some(ColorChoice::Always));
        assert_eq!(ColorChoice::parse("Always"), None);
        assert_eq!(ColorChoice::parse(""), None);
    }

    #[test]
    fn a_name_can_neither_move_the_cursor_nor_forge_a_line() {
        assert_eq!(
            escape("\u{1b}[2J\rok\n\u{9b}1m\u{7f}"),
            "\\u{1b}[2J\\rok\\n\\u{9b}1m\\u{7f}"
        );
        assert_eq!(escape("a\u{202e}b\u{2028}"), "a\\u{202e}b\\u{2028}");
        assert!(matches!(escape("größer µ – 1"), Cow::Borrowed(_)));
    }

    #[test]
    fn without_colour_nothing_is_added() {
        let plain = Style {
            color: false,
            width: 80,
        };
        assert_eq!(plain.paint(Tone::Bad, "x"), "x");
        let color = Style {
            color: true,
            width: 80,
        };
        assert_eq!(color.paint(Tone::Bad, "x"), "\u{1b}[1;31mx\u{1b}[0m");
    }
}
