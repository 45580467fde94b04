//! Small helpers of this folder's tests.

use std::collections::BTreeMap;

use crate::baseline::{Baseline, CandidateSession, SCHEMA};
use crate::facts::{Alignment, Facts, Host, Identity, TargetKind};
use crate::record::{self, Record};
use crate::sample::Session;
use crate::units::{Bytes, GIB};
use crate::verdict::{Judgement, Verdict};

/// A folder that goes away with the test.
pub(super) fn scratch() -> tempfile::TempDir {
    tempfile::Builder::new()
        .prefix("iogate-store-")
        .tempdir()
        .unwrap()
}

/// A stand-in for the salted hash: tells whose disk it is at a glance, with enough hex in front to be cut.
pub(super) fn hash(salt: &str, serial: &str) -> String {
    let digits: String = serial.bytes().map(|b| format!("{b:02x}")).collect();
    format!("{digits}{salt}")
}

/// A disk of one model; `serial` tells it from its twins.
pub(super) fn disk(serial: &str) -> Identity {
    Identity {
        name: "acme-1GiB-ext4".into(),
        model: "ACME".into(),
        size: Bytes(GIB),
        filesystem: "ext4".into(),
        by: "serial".into(),
        salt: "5a17".into(),
        hash: hash("5a17", serial),
    }
}

/// A baseline without tests: enough to be found.
pub(super) fn baseline(suite: &str, disk: Identity) -> Baseline {
    Baseline {
        schema: SCHEMA,
        suite: suite.into(),
        disk,
        tests: BTreeMap::new(),
    }
}

/// A session that measured nothing.
pub(super) fn session(id: &str) -> CandidateSession {
    CandidateSession {
        text: "t1".into(),
        barred: None,
        session: Session {
            id: id.into(),
            started: 1,
            seconds: 1.0,
            boot_id: String::new(),
            pid: 1,
            seed: 1,
            version: "0".into(),
            revision: None,
            debug_assertions: false,
            workload: BTreeMap::new(),
            leg_bytes: Vec::new(),
            settings: BTreeMap::new(),
            flush_cost: None,
            reuse_distance: None,
            layout: None,
            rounds: Vec::new(),
            latency: Vec::new(),
            notes: Vec::new(),
        },
    }
}

/// A record of a test on the disk with this serial, started at `start`.
pub(super) fn record(suite: &str, test: &str, serial: &str, start: f64) -> Record {
    Record {
        schema: record::SCHEMA,
        version: "0".into(),
        revision: None,
        suite: suite.into(),
        test: test.into(),
        text: "t1".into(),
        window: [start, start + 1.0],
        attempt: 1,
        trial: false,
        facts: Some(facts(disk(serial))),
        sessions: vec![session("1").session],
        judgement: Judgement {
            verdict: Verdict::Pass,
            reason: None,
            metric: None,
            detail: String::new(),
            metrics: Vec::new(),
            moved: None,
            suspects: Vec::new(),
            notes: Vec::new(),
        },
        advisory: false,
        refused: false,
        unconfirmed: false,
        signal: None,
        failed: false,
    }
}

fn facts(identity: Identity) -> Facts {
    Facts {
        target: "/mnt/disk".into(),
        kind: TargetKind::Directory,
        identity,
        filesystem: None,
        stack: Vec::new(),
        alignment: Alignment {
            offset: 512,
            memory: 512,
            source: "statx".into(),
            direct: true,
        },
        free: Bytes(GIB),
        settings: BTreeMap::new(),
        host: Host::default(),
    }
}
