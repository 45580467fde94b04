//! One form for one meaning: the text whose hash tells whether a test is still the one that was accepted.
//!
//! Only what differs from a default is rendered, so that a key a later version adds leaves older hashes alone.
//! Names, `slow`, `advisory` and `budget` are left out: they do not change what a number means.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use super::keys::{CACHES, ENGINES, FLUSHES, ONS, ORDERS, PROOFS, SCRATCHES, SPREADS, WRITES};
use super::{
    Block, Data, Gate, LegLength, Legs, Metric, NamedLeg, Proof, Tolerance, Workload, WriteMode,
};
use super::{Flush, On};

/// The first 16 hexadecimal digits of the SHA-256 of the canonical text.
pub(super) fn hash(workload: &Workload, gates: &BTreeMap<Metric, Gate>) -> String {
    let digest = Sha256::digest(text(workload, gates).as_bytes());
    digest[..8].iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// One line a key, in a fixed order.
fn text(workload: &Workload, gates: &BTreeMap<Metric, Gate>) -> String {
    let mut lines = vec![legs(&workload.legs)];
    let mut line = |key: &str, value: Option<String>| {
        lines.extend(value.map(|value| format!("{key} = {value}")));
    };
    let w = workload;
    line("size", w.size.map(|size| size.0.to_string()));
    line("leg", w.leg.map(leg));
    line("time", w.time.map(|time| format!("{} ns", time.as_nanos())));
    line("block", Some(block(w.block)));
    line("engine", Some(word(&ENGINES, w.engine)));
    line("cache", Some(word(&CACHES, w.cache)));
    line("depth", Some(w.depth.to_string()));
    line("workers", Some(w.workers.to_string()));
    line("data", (w.data != Data::Random).then(|| data(w.data)));
    line(
        "write",
        (w.write != WriteMode::Overwrite).then(|| word(&WRITES, w.write)),
    );
    line(
        "flush",
        (w.flush != Flush::End).then(|| word(&FLUSHES, w.flush)),
    );
    line("file", w.file.as_ref().map(|path| format!("{path:?}")));
    line(
        "scratch",
        w.scratch.map(|scratch| word(&SCRATCHES, scratch)),
    );
    line(
        "files",
        w.files.as_ref().map(|files| {
            let (spread, order) = (word(&SPREADS, files.spread), word(&ORDERS, files.order));
            format!("{} {} {spread} {order}", files.count, files.size.0)
        }),
    );
    line("on", (w.on != On::File).then(|| word(&ONS, w.on)));
    line(
        "zone",
        w.zone.map(|(from, to)| format!("{:?} {:?}", from.0, to.0)),
    );
    line("disks", (w.disks != 1).then(|| w.disks.to_string()));
    line(
        "proof",
        (w.proof != Proof::Required).then(|| word(&PROOFS, w.proof)),
    );
    for (metric, gate) in gates {
        lines.push(format!("gate {metric} = {}", gate_text(*gate)));
    }
    lines.join("\n")
}

fn word<T: Copy + PartialEq>(words: &[(&str, T)], value: T) -> String {
    let found = words.iter().find(|(_, v)| *v == value);
    found.map_or("", |(name, _)| name).to_owned()
}

fn legs(legs: &Legs) -> String {
    match legs {
        Legs::Single(rw) => format!("rw = {}", rw.word()),
        Legs::Pair(read, write) => format!("pair = {} {}", read.word(), write.word()),
        Legs::Together(legs) => legs.iter().map(named).collect::<Vec<_>>().join("\n"),
    }
}

fn named(leg: &NamedLeg) -> String {
    let number = |n: Option<u32>| n.map_or_else(|| "-".to_owned(), |n| n.to_string());
    let size = leg
        .size
        .map_or_else(|| "-".to_owned(), |size| size.0.to_string());
    let block = leg.block.map_or_else(|| "-".to_owned(), block);
    let (workers, depth) = (number(leg.workers), number(leg.depth));
    format!(
        "leg {} = {} {workers} {depth} {block} {size}",
        leg.name,
        leg.rw.word()
    )
}

fn leg(length: LegLength) -> String {
    match length {
        LegLength::Time(time) => format!("{} ns", time.as_nanos()),
        LegLength::Bytes(bytes) => bytes.0.to_string(),
    }
}

fn block(block: Block) -> String {
    match block {
        Block::Bytes(bytes) => bytes.0.to_string(),
        Block::Min => "min".to_owned(),
    }
}

fn data(data: Data) -> String {
    match data {
        Data::Random => "random".to_owned(),
        Data::Zero => "zero".to_owned(),
        Data::Compressible(share) => format!("compressible {:?}", share.0),
    }
}

fn gate_text(gate: Gate) -> String {
    let mut text = match gate.tolerance {
        Tolerance::Auto => "auto".to_owned(),
        Tolerance::Given(share) => format!("{:?}", share.0),
        Tolerance::Unset => "unset".to_owned(),
    };
    let bounds = [("min", gate.min), ("max", gate.max)];
    for (name, bound) in bounds.into_iter().filter_map(|(name, b)| Some((name, b?))) {
        let _ = write!(text, " {name} {bound:?}");
    }
    if gate.advisory {
        text.push_str(" advisory");
    }
    text
}
