//! Hand-made records for this folder's tests.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::style::Style;
use crate::baseline::{Accepted, Anchor, Summary};
use crate::facts::{Alignment, Facts, Host, Identity, TargetKind};
use crate::plan::{DataPlan, FlushPlan, LegPlan, Plan, Source};
use crate::record::{Record, SCHEMA};
use crate::sample::{Fate, LegSample, Round, Session};
use crate::stats::SessionStat;
use crate::suite::{Cache, Direction, EngineKind, Metric, MetricKind, Rw};
use crate::units::{Bytes, GIB, KIB, MIB, Nanos};
use crate::verdict::{Judgement, MetricResult, Moved, Reason, Suspect, Verdict};

pub(super) fn plain(width: usize) -> Style {
    Style {
        color: false,
        width,
    }
}

/// What a drawing function writes.
pub(super) fn drawn(draw: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> String {
    let mut out = Vec::new();
    draw(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn metric(name: &str, value: f64, baseline: Option<f64>, verdict: Option<Verdict>) -> MetricResult {
    let metric: Metric = name.parse().unwrap();
    let change = baseline.map(|b| value / b - 1.0);
    MetricResult {
        unit: metric.kind.unit().into(),
        metric,
        value,
        lower: value * 0.96,
        upper: value * 1.04,
        baseline,
        change,
        change_lower: change.map(|c| c - 0.02),
        change_upper: change.map(|c| c + 0.02),
        tolerance: baseline.map(|_| 0.06),
        resolvable: baseline.map(|_| 0.045),
        floor: None,
        ceiling: false,
        verdict,
        advisory: false,
        improved: false,
    }
}

fn pair(read: f64, write: f64, judged: [Option<Verdict>; 3], known: bool) -> Vec<MetricResult> {
    let known = |baseline: f64| known.then_some(baseline);
    vec![
        metric("ratio", read / write, known(1.71), judged[0]),
        metric("read", read, known(205e6), judged[1]),
        metric("write", write, known(120e6), judged[2]),
    ]
}

fn session() -> Session {
    let leg = |direction| LegSample {
        direction,
        bytes: Bytes(64 * MIB),
        time: Nanos(1_000_000_000),
        flush: Nanos(0),
        drain: Nanos(0),
        requests: 64,
        cpu_user: Nanos(0),
        cpu_system: Nanos(0),
        own: None,
        device: None,
        device_other: None,
        series: Vec::new(),
    };
    let round = |fate| Round {
        fate,
        legs: vec![leg(Direction::Read), leg(Direction::Write)],
        steal: None,
    };
    Session {
        id: "1".into(),
        started: 1_699_990_000,
        seconds: 44.0,
        boot_id: "b".into(),
        pid: 1,
        seed: 7,
        version: "0.1.0".into(),
        revision: None,
        debug_assertions: false,
        workload: BTreeMap::new(),
        leg_bytes: Vec::new(),
        settings: BTreeMap::new(),
        flush_cost: None,
        reuse_distance: None,
        layout: None,
        rounds: vec![
            round(Fate::WarmUp),
            round(Fate::Kept),
            round(Fate::Void("neighbour".into())),
            round(Fate::Kept),
        ],
        latency: Vec::new(),
        notes: Vec::new(),
    }
}

fn record(verdict: Verdict, metrics: Vec<MetricResult>, failed: bool) -> Record {
    Record {
        schema: SCHEMA,
        version: "0.1.0".into(),
        revision: None,
        suite: "sequential".into(),
        test: "direct".into(),
        text: "t".into(),
        window: [1_699_990_000.0, 1_699_990_050.5],
        attempt: 1,
        trial: false,
        facts: Some(facts()),
        sessions: vec![session()],
        judgement: Judgement {
            verdict,
            reason: None,
            metric: metrics.first().map(|m| m.metric.clone()),
            detail: String::new(),
            metrics,
            moved: None,
            suspects: Vec::new(),
            notes: Vec::new(),
        },
        advisory: false,
        refused: false,
        unconfirmed: false,
        signal: None,
        failed,
    }
}

fn facts() -> Facts {
    Facts {
        target: "/mnt/disk".into(),
        kind: TargetKind::Directory,
        identity: Identity {
            name: "acme-1GiB-ext4".into(),
            model: "ACME".into(),
            size: Bytes(GIB),
            filesystem: "ext4".into(),
            by: "serial".into(),
            salt: "5a17".into(),
            hash: "0123456789abcdef0123456789abcdef".into(),
        },
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

pub(super) fn pass() -> Record {
    let mut record = record(
        Verdict::Pass,
        pair(206e6, 121e6, [Some(Verdict::Pass); 3], true),
        false,
    );
    record.judgement.metrics[1].improved = true;
    record
}

pub(super) fn regressed() -> Record {
    use Verdict::{Pass, Regressed};
    let judged = [Some(Regressed), Some(Regressed), Some(Pass)];
    let mut record = record(Regressed, pair(66e6, 121e6, judged, true), true);
    record.sessions.push(session());
    let judgement = &mut record.judgement;
    judgement.detail = "read and ratio are below the limit in both sessions".into();
    judgement.moved = Some(Moved::ReadFell);
    judgement.suspects = vec![
        Suspect {
            name: "read_ahead_kb".into(),
            baseline: "128".into(),
            now: "0".into(),
        },
        Suspect {
            name: "scheduler".into(),
            baseline: "mq-deadline".into(),
            now: String::new(),
        },
    ];
    record
}

pub(super) fn inconclusive() -> Record {
    use Verdict::{Inconclusive, Pass};
    let judged = [Some(Inconclusive), Some(Pass), Some(Pass)];
    let mut record = record(Inconclusive, pair(200e6, 122e6, judged, true), false);
    record.test = "buffered".into();
    record.judgement.reason = Some(Reason::Budget);
    record.judgement.detail =
        "ratio could have been told from the baseline at 8.2 %, not at 6.0 %; \
                               a second session or a larger budget would help"
            .into();
    record
}

pub(super) fn invalid() -> Record {
    let mut record = record(Verdict::Invalid, Vec::new(), true);
    record.judgement.detail =
        "41 % of the bytes read came from memory; the disk was asked for 59 %".into();
    record
}

pub(super) fn no_baseline() -> Record {
    let mut metrics = pair(206e6, 121e6, [Some(Verdict::NoBaseline), None, None], false);
    metrics[0].floor = Some(0.5);
    let mut record = record(Verdict::NoBaseline, metrics, true);
    record.test = "readers::workers-5".into();
    record.judgement.detail = "nothing is accepted for this test on this disk".into();
    record
}

pub(super) fn trial_record(ratio: f64) -> Record {
    let metrics = pair(ratio * 120e6, 120e6, [None; 3], false);
    let mut record = record(Verdict::NoBaseline, metrics, false);
    record.trial = true;
    let legs = record.sessions.iter_mut().flat_map(|s| &mut s.rounds);
    for leg in legs.flat_map(|r| &mut r.legs) {
        if leg.direction == Direction::Read {
            leg.time = Nanos((1e9 / ratio) as u64);
        }
    }
    record
}

/// One test's accepted sessions by their ratio, against an anchor.
pub(super) fn accepted(ratios: &[f64], anchor: f64, when: u64) -> Accepted {
    let metric = Metric::from(MetricKind::Ratio);
    let summary = Summary {
        value: ratios.iter().sum::<f64>() / ratios.len() as f64,
        lowest: ratios.iter().copied().fold(f64::INFINITY, f64::min),
        highest: ratios.iter().copied().fold(0.0, f64::max),
        tolerance: 0.06,
    };
    let stat = SessionStat {
        mean: anchor.ln(),
        var: 0.0,
        n: 20,
        rho: 0.0,
    };
    Accepted {
        summary: BTreeMap::from([(metric.clone(), summary)]),
        accepted: when,
        revision: Some("0123456789abcdef".into()),
        reason: None,
        text: "t".into(),
        workload: BTreeMap::new(),
        leg_bytes: Vec::new(),
        mount_point: Some("ab".into()),
        max_sessions: 2,
        anchor: Anchor {
            accepted: 50,
            reason: None,
            sessions: BTreeMap::from([(metric, vec![stat])]),
        },
        sessions: vec![session(); ratios.len()],
    }
}

pub(super) fn plan(test: &str, depth: u32) -> Plan {
    let leg = |rw, direction| LegPlan {
        rw,
        direction,
        bytes: None,
        aim: Nanos(1_000_000_000),
        took: None,
    };
    Plan {
        test: test.into(),
        legs: vec![
            leg(Rw::Read, Direction::Read),
            leg(Rw::Write, Direction::Write),
        ],
        block: Bytes(128 * KIB),
        depth,
        workers: 1,
        extent: Bytes(4 * GIB),
        two_files: false,
        engine: EngineKind::Psync,
        cache: Cache::Direct,
        data: DataPlan::Random,
        flush: FlushPlan::End,
        source: Source::Scratch("/mnt/disk".into()),
        alignment: 512,
        warm_up: 2,
        keep: 20,
        seed: 1,
        needs: Bytes(4 * GIB),
        writes: Bytes(6 * GIB),
        expected: Some(Nanos(46_000_000_000)),
        budget: Nanos(60_000_000_000),
        budget_given: false,
        read_ahead: Bytes(128 * KIB),
        still: Nanos(100_000_000),
        stripe: Bytes(0),
        reread_after: Bytes(0),
        numa_node: None,
        proof_required: true,
        key: BTreeMap::new(),
    }
}
