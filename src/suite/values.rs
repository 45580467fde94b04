//! Single values: a word, a number, a quantity with its unit, each with what else would have been allowed.

use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use toml::de::DeValue;

use super::fio;
use super::written::{
    Fault, Faults, Value, did_you_mean, in_order, one_of, printable, quote, show,
};
use crate::units::{UnitError, parse_duration};

/// A value of one key, and what is said when it is another.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field<'v, 'a> {
    /// The key as it is named in messages: `block`, `files.size`.
    pub(super) key: &'v str,
    /// What is written.
    pub(super) value: &'v Value<'a>,
}

impl<'v, 'a> Field<'v, 'a> {
    pub(super) fn new(key: &'v str, value: &'v Value<'a>) -> Self {
        Self { key, value }
    }

    /// Byte offset of the value.
    pub(super) fn at(self) -> usize {
        self.value.span().start
    }

    /// A fault at this value.
    pub(super) fn fault(self, allowed: impl Into<String>) -> Fault {
        Fault::new(self.at(), self.key, show(self.value.get_ref()), allowed)
    }

    /// Text in quotes.
    pub(super) fn text(self, allowed: &str) -> Result<&'v str, Fault> {
        match self.value.get_ref() {
            DeValue::String(text) => Ok(text),
            _ => Err(self.fault(allowed)),
        }
    }

    /// One word of a table of words.
    pub(super) fn word<T: Copy>(self, words: &[(&str, T)]) -> Result<T, Fault> {
        let names = || words.iter().map(|&(name, _)| name);
        let allowed = || one_of(words.iter().map(|&(name, _)| name));
        let written = match self.value.get_ref() {
            DeValue::String(text) => text.as_ref(),
            other => {
                let fault = self.fault(allowed());
                return Err(match fio::value(self.key, &show(other)) {
                    Some(here) => fault.hint(here),
                    None => fault,
                });
            }
        };
        if let Some(&(_, value)) = words.iter().find(|(name, _)| *name == written) {
            return Ok(value);
        }
        let mut fault = self.fault(allowed());
        fault.hint = fio::value(self.key, written)
            .map(str::to_owned)
            .or_else(|| did_you_mean(written, names()));
        Err(fault)
    }

    /// `true` or `false`.
    pub(super) fn flag(self) -> Result<bool, Fault> {
        match self.value.get_ref() {
            DeValue::Boolean(flag) => Ok(*flag),
            DeValue::String(text) if matches!(text.as_ref(), "true" | "false") => {
                Err(self.fault("true or false").hint("without quotes"))
            }
            _ => Err(self.fault("true or false")),
        }
    }

    /// A whole number.
    pub(super) fn whole(self, range: RangeInclusive<u32>) -> Result<u32, Fault> {
        let allowed = format!("a whole number from {} to {}", range.start(), range.end());
        let number = match self.value.get_ref() {
            DeValue::Integer(i) => u32::from_str_radix(i.as_str(), i.radix()).ok(),
            DeValue::String(text) if text.parse::<u32>().is_ok() => {
                return Err(self.fault(allowed).hint("without quotes"));
            }
            _ => None,
        };
        number
            .filter(|n| range.contains(n))
            .ok_or_else(|| self.fault(allowed))
    }

    /// A number without a unit: finite and not negative.
    pub(super) fn number(self) -> Result<f64, Fault> {
        let number = match self.value.get_ref() {
            DeValue::Integer(i) => u64::from_str_radix(i.as_str(), i.radix())
                .ok()
                .map(|n| n as f64),
            DeValue::Float(f) => f.as_str().parse().ok(),
            _ => None,
        };
        number
            .filter(|n: &f64| n.is_finite() && *n >= 0.0)
            .ok_or_else(|| self.fault("a number, zero or more, without quotes"))
    }

    /// A quantity with its unit, in quotes.
    pub(super) fn quantity<T: FromStr<Err = UnitError>>(self, like: &str) -> Result<T, Fault> {
        self.parsed(like, str::parse)
    }

    /// A time above zero.
    pub(super) fn time(self) -> Result<Duration, Fault> {
        let time = self.parsed("a time in quotes, such as \"60s\"", parse_duration)?;
        if time.is_zero() {
            return Err(self.fault("a time above zero"));
        }
        Ok(time)
    }

    /// Text that `read` turns into a quantity.
    pub(super) fn parsed<T>(
        self,
        like: &str,
        read: impl Fn(&str) -> Result<T, UnitError>,
    ) -> Result<T, Fault> {
        let DeValue::String(text) = self.value.get_ref() else {
            let fault = self.fault(like);
            return Err(match self.value.get_ref() {
                DeValue::Integer(_) | DeValue::Float(_) => fault.hint("units are always written"),
                _ => fault,
            });
        };
        read(text).map_err(|e| Fault::new(self.at(), self.key, e.found, e.expected))
    }

    /// The entries of a table by key; unknown ones are noted, `None` when it is no table.
    pub(super) fn table(
        self,
        like: &str,
        keys: &[&'static str],
        faults: &mut Faults,
    ) -> Option<Vec<(&'static str, &'v Value<'a>)>> {
        let DeValue::Table(table) = self.value.get_ref() else {
            faults.push(self.fault(like));
            return None;
        };
        let mut known = Vec::new();
        for (name, span, value) in in_order(table) {
            match keys.iter().find(|&&key| key == name) {
                Some(&key) => known.push((key, value)),
                None => {
                    let dotted = format!("{}.{name}", self.key);
                    faults.push(unknown(span.start, &dotted, name, keys.iter().copied()));
                }
            }
        }
        Some(known)
    }
}

/// The fault of a key that does not exist here, with the nearest one or the translation of fio's word.
pub(super) fn unknown<'w>(
    at: usize,
    key: &str,
    name: &str,
    keys: impl IntoIterator<Item = &'w str> + Clone,
) -> Fault {
    let found = format!("an unknown key {}", quote(name));
    let mut fault = Fault::new(at, printable(key), found, one_of(keys.clone()));
    fault.hint = fio::option(name)
        .map(str::to_owned)
        .or_else(|| did_you_mean(name, keys));
    fault
}
