//! The keys of a test: name, what may stand there, and the value it is read into.
//!
//! Adding a key is one row of [`ROWS`] and one [`Setting`]; what combinations of keys mean is `rules`.

use std::path::PathBuf;
use std::time::Duration;

use toml::de::DeValue;

use super::legs;
use super::readers::{block, count, data, depth, file, files, leg_length, size, zone};
use super::values::Field;
use super::written::{Fault, Faults, Value};
use super::{
    Block, Cache, Data, EngineKind, FileOrder, Files, Flush, LegLength, NamedLeg, On, Proof, Rw,
    Scratch, Spread, WriteMode,
};
use crate::units::{Bytes, Fraction};

/// One key with its value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Setting {
    Rw(Rw),
    Pair([Rw; 2]),
    Legs(Vec<LegAt>),
    Size(Bytes),
    Leg(LegLength),
    Time(Duration),
    Block(Block),
    Engine(EngineKind),
    Cache(Cache),
    Depth(u32),
    Workers(u32),
    Data(Data),
    Write(WriteMode),
    Flush(Flush),
    File(PathBuf),
    Scratch(Scratch),
    Files(Files),
    On(On),
    Zone((Fraction, Fraction)),
    Disks(u32),
    Proof(Proof),
    Slow(bool),
    Advisory(bool),
    Budget(Duration),
}

/// A `[[test.leg]]` with its place.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LegAt {
    pub(super) leg: NamedLeg,
    pub(super) at: usize,
}

/// How a key is read.
type Read = fn(Field<'_, '_>, &mut Faults) -> Option<Setting>;

/// A key of a test.
#[derive(Debug)]
pub(super) struct Row {
    /// As written.
    pub(super) name: &'static str,
    /// Keys of one group exclude each other: the test's own choice beats the one of `[defaults]`.
    pub(super) group: &'static str,
    /// Whether a list of values makes one test of each.
    pub(super) lists: bool,
    read: Read,
}

const fn row(name: &'static str, read: Read) -> Row {
    Row {
        name,
        group: name,
        lists: true,
        read,
    }
}

const fn lone(name: &'static str, group: &'static str, read: Read) -> Row {
    Row {
        name,
        group,
        lists: false,
        read,
    }
}

const fn grouped(name: &'static str, group: &'static str, read: Read) -> Row {
    Row {
        name,
        group,
        lists: true,
        read,
    }
}

pub(super) const RW: [(&str, Rw); 5] = [
    ("read", Rw::Read),
    ("write", Rw::Write),
    ("randread", Rw::RandRead),
    ("randwrite", Rw::RandWrite),
    ("randrw", Rw::RandRw),
];
pub(super) const ENGINES: [(&str, EngineKind); 4] = [
    ("psync", EngineKind::Psync),
    ("mmap", EngineKind::Mmap),
    ("io_uring", EngineKind::IoUring),
    ("null", EngineKind::Null),
];
pub(super) const CACHES: [(&str, Cache); 2] =
    [("direct", Cache::Direct), ("buffered", Cache::Buffered)];
pub(super) const WRITES: [(&str, WriteMode); 3] = [
    ("overwrite", WriteMode::Overwrite),
    ("append", WriteMode::Append),
    ("new-file", WriteMode::NewFile),
];
pub(super) const FLUSHES: [(&str, Flush); 3] = [
    ("end", Flush::End),
    ("each", Flush::Each),
    ("none", Flush::None),
];
pub(super) const SCRATCHES: [(&str, Scratch); 2] =
    [("unlinked", Scratch::Unlinked), ("kept", Scratch::Kept)];
pub(super) const ONS: [(&str, On); 2] = [("file", On::File), ("device", On::Device)];
pub(super) const PROOFS: [(&str, Proof); 2] =
    [("required", Proof::Required), ("none", Proof::None)];
pub(super) const SPREADS: [(&str, Spread); 3] = [
    ("fixed", Spread::Fixed),
    ("uniform", Spread::Uniform),
    ("lognormal", Spread::Lognormal),
];
pub(super) const ORDERS: [(&str, FileOrder); 2] = [
    ("created", FileOrder::Created),
    ("random", FileOrder::Random),
];

/// The group of `rw`, `pair` and `[[test.leg]]`: exactly one of them is written.
pub(super) const PATTERN: &str = "rw";

/// Every key of a test beside `name` and `gate`.
pub(super) static ROWS: [Row; 24] = [
    grouped("rw", PATTERN, |f, all| {
        all.note(f.word(&RW)).map(Setting::Rw)
    }),
    lone("pair", PATTERN, |f, all| {
        all.note(legs::pair(f)).map(Setting::Pair)
    }),
    lone("leg", PATTERN, |f, all| {
        legs::named(f, all).map(Setting::Legs)
    }),
    row("size", |f, all| all.note(size(f)).map(Setting::Size)),
    grouped("leg", "time", |f, all| {
        all.note(leg_length(f)).map(Setting::Leg)
    }),
    grouped("time", "time", |f, all| {
        all.note(f.time()).map(Setting::Time)
    }),
    row("block", |f, all| all.note(block(f)).map(Setting::Block)),
    row("engine", |f, all| {
        all.note(f.word(&ENGINES)).map(Setting::Engine)
    }),
    row("cache", |f, all| {
        all.note(f.word(&CACHES)).map(Setting::Cache)
    }),
    row("depth", |f, all| all.note(depth(f)).map(Setting::Depth)),
    row("workers", |f, all| all.note(count(f)).map(Setting::Workers)),
    row("data", |f, all| data(f, all).map(Setting::Data)),
    row("write", |f, all| {
        all.note(f.word(&WRITES)).map(Setting::Write)
    }),
    row("flush", |f, all| {
        all.note(f.word(&FLUSHES)).map(Setting::Flush)
    }),
    row("file", |f, all| all.note(file(f)).map(Setting::File)),
    row("scratch", |f, all| {
        all.note(f.word(&SCRATCHES)).map(Setting::Scratch)
    }),
    lone("files", "files", |f, all| files(f, all).map(Setting::Files)),
    row("on", |f, all| all.note(f.word(&ONS)).map(Setting::On)),
    row("zone", |f, all| all.note(zone(f)).map(Setting::Zone)),
    row("disks", |f, all| all.note(count(f)).map(Setting::Disks)),
    row("proof", |f, all| {
        all.note(f.word(&PROOFS)).map(Setting::Proof)
    }),
    row("slow", |f, all| all.note(f.flag()).map(Setting::Slow)),
    row("advisory", |f, all| {
        all.note(f.flag()).map(Setting::Advisory)
    }),
    row("budget", |f, all| all.note(f.time()).map(Setting::Budget)),
];

/// The row of a key; `leg` is two keys, `leg = "2s"` and `[[test.leg]]`, told apart by their value.
pub(super) fn find(name: &str, value: &DeValue<'_>) -> Option<&'static Row> {
    let tables = matches!(value, DeValue::Table(_))
        || matches!(value, DeValue::Array(items)
            if items.iter().any(|item| matches!(item.get_ref(), DeValue::Table(_))));
    ROWS.iter()
        .filter(|row| row.name == name)
        .find(|row| name != "leg" || (row.group == PATTERN) == tables)
}

/// The names of all keys of a test, `name` and `gate` included, as an error lists them.
pub(super) fn names() -> impl Iterator<Item = &'static str> + Clone {
    // `leg` has two rows and is listed once.
    let rows = ROWS
        .iter()
        .filter(|row| row.group != PATTERN || row.name != "leg");
    std::iter::once("name")
        .chain(rows.map(|row| row.name))
        .chain(std::iter::once("gate"))
}

/// One value of a key, with its place and the text that names it in a list.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Choice {
    pub(super) setting: Setting,
    pub(super) at: usize,
    pub(super) label: String,
}

/// A key as written: one value, or several where it is a list.
#[derive(Debug, Clone)]
pub(super) struct Written {
    pub(super) row: &'static Row,
    /// Byte offset of the key.
    pub(super) at: usize,
    pub(super) list: bool,
    pub(super) choices: Vec<Choice>,
    /// Some value could not be read.
    pub(super) spoilt: bool,
    /// Whether it stands in `[defaults]`.
    pub(super) default: bool,
}

impl Written {
    /// Reads the value or values of a key; what is wrong with them goes to `faults`.
    pub(super) fn read(
        row: &'static Row,
        at: usize,
        field: Field<'_, '_>,
        faults: &mut Faults,
    ) -> Self {
        let before = faults.len();
        let one = |value: &Value<'_>, faults: &mut Faults| {
            let setting = (row.read)(Field::new(field.key, value), faults)?;
            Some(Choice {
                setting,
                at: value.span().start,
                label: label(value.get_ref()),
            })
        };
        let items = match field.value.get_ref() {
            DeValue::Array(items) if row.lists => Some(items),
            _ => None,
        };
        let choices: Vec<_> = match items {
            Some(items) => items.iter().filter_map(|item| one(item, faults)).collect(),
            None => one(field.value, faults).into_iter().collect(),
        };
        if items.is_some_and(|items| items.is_empty()) {
            let found = "an empty list";
            faults.push(Fault::new(
                field.at(),
                field.key,
                found,
                "at least one value",
            ));
        }
        Self {
            row,
            at,
            list: items.is_some(),
            choices,
            spoilt: faults.len() > before,
            default: false,
        }
    }
}

/// What names a value in the name of a test: its text, with what names may not hold left out or made a dash.
fn label(value: &DeValue<'_>) -> String {
    let text = match value {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(i) => u64::from_str_radix(i.as_str(), i.radix())
            .map_or_else(|_| i.to_string(), |n| n.to_string()),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Table(table) => {
            let entries = table
                .iter()
                .map(|(key, value)| format!("{}-{}", key.get_ref(), label(value.get_ref())));
            entries.collect::<Vec<_>>().join("-")
        }
        _ => String::new(),
    };
    let spaced = text.replace(char::is_whitespace, "").replace("..", "-");
    let kept = |c: char| {
        if c.is_ascii_alphanumeric() || "_.".contains(c) {
            c
        } else {
            '-'
        }
    };
    let dashed: String = spaced.chars().map(kept).collect();
    let parts = dashed.split('-').filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("-")
}
