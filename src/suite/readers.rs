//! Values that are more than a word or a number: sizes, `block`, `leg`, `data`, `file`, `files`, `zone`.

use std::path::PathBuf;
use std::time::Duration;

use toml::de::DeValue;

use super::keys::{ORDERS, SPREADS};
use super::values::Field;
use super::written::{Fault, Faults};
use super::{Block, Data, FileOrder, Files, LegLength, Spread};
use crate::units::{Bytes, Fraction, parse_duration};

/// Largest `depth`: IORING_MAX_ENTRIES of the kernel.
const DEEPEST: u32 = 32_768;
/// Largest `workers` and `disks`.
const MOST: u32 = 4_096;

const LIKE_SIZE: &str = "bytes above zero in quotes, such as \"4GiB\"";

pub(super) fn size(field: Field<'_, '_>) -> Result<Bytes, Fault> {
    match field.quantity::<Bytes>(LIKE_SIZE)? {
        Bytes(0) => Err(field.fault(LIKE_SIZE)),
        size => Ok(size),
    }
}

pub(super) fn block(field: Field<'_, '_>) -> Result<Block, Fault> {
    const LIKE: &str = "bytes in quotes, such as \"128KiB\", or \"min\"";
    if matches!(field.value.get_ref(), DeValue::String(text) if text == "min") {
        return Ok(Block::Min);
    }
    match field.quantity::<Bytes>(LIKE)? {
        Bytes(0) => Err(field.fault(LIKE)),
        block => Ok(Block::Bytes(block)),
    }
}

pub(super) fn depth(field: Field<'_, '_>) -> Result<u32, Fault> {
    field.whole(1..=DEEPEST)
}

/// How many workers, or disks.
pub(super) fn count(field: Field<'_, '_>) -> Result<u32, Fault> {
    field.whole(1..=MOST)
}

pub(super) fn leg_length(field: Field<'_, '_>) -> Result<LegLength, Fault> {
    const LIKE: &str = "a time such as \"2s\", or bytes such as \"1GiB\", above zero";
    let text = field.text(LIKE)?;
    // A unit of bytes ends in B, none of time does.
    let length = if text.trim_end().ends_with(['b', 'B']) {
        LegLength::Bytes(field.quantity(LIKE)?)
    } else if let Ok(time) = parse_duration(text) {
        LegLength::Time(time)
    } else if let Err(e) = text.parse::<Bytes>()
        && e.expected.contains(" or ")
        && text.trim_start().starts_with(|c: char| c.is_ascii_digit())
        && text
            .trim_end()
            .ends_with(['k', 'K', 'M', 'G', 'T', 'g', 't'])
    {
        return Err(Fault::new(field.at(), field.key, e.found, e.expected));
    } else {
        return Err(field.fault(LIKE));
    };
    match length {
        LegLength::Bytes(Bytes(0)) | LegLength::Time(Duration::ZERO) => Err(field.fault(LIKE)),
        length => Ok(length),
    }
}

pub(super) fn data(field: Field<'_, '_>, faults: &mut Faults) -> Option<Data> {
    const LIKE: &str = "\"random\", \"zero\" or { compressible = \"50%\" }";
    if !matches!(field.value.get_ref(), DeValue::Table(_)) {
        let word = field.word(&[("random", Data::Random), ("zero", Data::Zero)]);
        return faults.note(word.map_err(|fault| Fault {
            allowed: LIKE.to_owned(),
            ..fault
        }));
    }
    let entries = field.table(LIKE, &["compressible"], faults)?;
    let Some((key, value)) = entries.first() else {
        faults.push(field.fault(LIKE));
        return None;
    };
    let dotted = format!("{}.{key}", field.key);
    let entry = Field::new(&dotted, value);
    let share: Fraction = faults.note(entry.quantity("a share such as \"50%\""))?;
    if share.0 > 1.0 {
        faults.push(entry.fault("a share of at most 100%"));
        return None;
    }
    Some(Data::Compressible(share))
}

pub(super) fn file(field: Field<'_, '_>) -> Result<PathBuf, Fault> {
    const LIKE: &str = "the path of an existing file or device, in quotes";
    let text = field.text(LIKE)?;
    if text.trim().is_empty() || text.chars().any(char::is_control) {
        return Err(field
            .fault(LIKE)
            .hint("empty names and control characters are refused"));
    }
    Ok(PathBuf::from(text))
}

pub(super) fn files(field: Field<'_, '_>, faults: &mut Faults) -> Option<Files> {
    const LIKE: &str = "a table such as { count = 4000, size = \"650kB\" }";
    let entries = field.table(LIKE, &["count", "size", "spread", "order"], faults)?;
    let has = |key| entries.iter().any(|&(name, _)| name == key);
    if !has("count") || !has("size") {
        let found = "files without `count` or `size`";
        faults.push(Fault::new(field.at(), field.key, found, LIKE));
        return None;
    }
    let (mut count, mut bytes) = (None, None);
    let (mut spread, mut order) = (Some(Spread::Fixed), Some(FileOrder::Created));
    for (key, value) in entries {
        let dotted = format!("{}.{key}", field.key);
        let entry = Field::new(&dotted, value);
        match key {
            "count" => count = faults.note(entry.whole(1..=u32::MAX)),
            "size" => bytes = faults.note(size(entry)),
            "spread" => spread = faults.note(entry.word(&SPREADS)),
            _ => order = faults.note(entry.word(&ORDERS)),
        }
    }
    Some(Files {
        count: count?,
        size: bytes?,
        spread: spread?,
        order: order?,
    })
}

pub(super) fn zone(field: Field<'_, '_>) -> Result<(Fraction, Fraction), Fault> {
    const LIKE: &str = "two shares of the device, the smaller first, such as \"0%..5%\"";
    let text = field.text(LIKE)?;
    let ends = text.split_once("..").and_then(|(from, to)| {
        let (from, to): (Fraction, Fraction) = (from.parse().ok()?, to.parse().ok()?);
        (from.0 < to.0 && to.0 <= 1.0).then_some((from, to))
    });
    ends.ok_or_else(|| field.fault(LIKE))
}
