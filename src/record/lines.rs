//! The objects of the JSON stream: one a line, each with `type` and `schema`. People's pipelines depend on the names.
//!
//! Rates are bytes per second and times nanoseconds, both as integers; ratios and the like are plain numbers;
//! `change` and `tolerance` are shares of one.

use serde::{Deserialize, Serialize};

use super::{Record, SCHEMA};
use crate::stats::yields::kept_rounds;
use crate::suite::Direction;
use crate::verdict::{MetricResult, Reason, Suspect, Verdict};

/// A number in a metric's own unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Figure {
    /// Bytes per second, nanoseconds.
    Whole(u64),
    /// Everything else.
    Plain(f64),
}

impl Figure {
    fn new(unit: &str, value: f64) -> Self {
        match unit {
            // `as` saturates, and no rate or time comes near.
            "B/s" | "ns" => Self::Whole(value.round() as u64),
            _ => Self::Plain(value),
        }
    }
}

/// `type: "verdict"`: one test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct VerdictLine {
    /// `verdict`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Version of the stream.
    pub schema: u32,
    /// Suite name.
    pub suite: String,
    /// Test name without the suite.
    pub test: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Why, where the verdict alone does not say.
    pub reason: Option<Reason>,
    /// Kept rounds of all sessions.
    pub rounds: u64,
    /// Sessions.
    pub sessions: u64,
    /// Bytes returned by reads, warm-up and void rounds included.
    pub bytes_read: u64,
    /// Bytes taken by writes, warm-up and void rounds included.
    pub bytes_written: u64,
    /// Seconds from start to end.
    pub seconds: f64,
    /// Settings that differ from the baseline's.
    pub suspects: Vec<Suspect>,
    /// `provisional: …`, `improved: …` and the like, each a word and what there is to say.
    pub notes: Vec<String>,
    /// Gated metrics first.
    pub metrics: Vec<MetricLine>,
}

/// One metric of a [`VerdictLine`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct MetricLine {
    /// Its name.
    pub metric: String,
    /// `1`, `B/s`, `1/s`, `ns`, `ns/B`.
    pub unit: String,
    /// Point estimate.
    pub value: Figure,
    /// Lower 95 % limit of the value within the run.
    pub lower: Figure,
    /// Upper 95 % limit of the value within the run.
    pub upper: Figure,
    /// Accepted value.
    pub baseline: Option<Figure>,
    /// (value − baseline) / baseline.
    pub change: Option<f64>,
    /// Lower 95 % limit of the change, between-session spread included.
    pub change_lower: Option<f64>,
    /// Upper 95 % limit of the change.
    pub change_upper: Option<f64>,
    /// Tolerance used.
    pub tolerance: Option<f64>,
    /// `min` or `max` of the gate.
    pub floor: Option<Figure>,
    /// Its own verdict; `null` when it is only reported.
    pub verdict: Option<Verdict>,
}

impl From<&MetricResult> for MetricLine {
    fn from(r: &MetricResult) -> Self {
        let figure = |v| Figure::new(&r.unit, v);
        Self {
            metric: r.metric.to_string(),
            unit: r.unit.clone(),
            value: figure(r.value),
            lower: figure(r.lower),
            upper: figure(r.upper),
            baseline: r.baseline.map(figure),
            change: r.change,
            change_lower: r.change_lower,
            change_upper: r.change_upper,
            tolerance: r.tolerance,
            floor: r.floor.map(figure),
            verdict: r.verdict,
        }
    }
}

impl From<&Record> for VerdictLine {
    fn from(record: &Record) -> Self {
        let bytes = |way: Direction| {
            let legs = record
                .sessions
                .iter()
                .flat_map(|s| &s.rounds)
                .flat_map(|r| &r.legs);
            legs.filter(|l| l.direction == way)
                .fold(0, |sum: u64, l| sum.saturating_add(l.bytes.0))
        };
        let rounds: usize = record.sessions.iter().map(|s| kept_rounds(s).count()).sum();
        let judgement = &record.judgement;
        Self {
            kind: "verdict".into(),
            schema: SCHEMA,
            suite: record.suite.clone(),
            test: record.test.clone(),
            verdict: judgement.verdict,
            reason: judgement.reason,
            rounds: rounds as u64,
            sessions: record.sessions.len() as u64,
            bytes_read: bytes(Direction::Read),
            bytes_written: bytes(Direction::Write),
            seconds: record.window[1] - record.window[0],
            suspects: judgement.suspects.clone(),
            notes: judgement.notes.clone(),
            metrics: judgement.metrics.iter().map(MetricLine::from).collect(),
        }
    }
}

/// `type: "summary"`: the last line of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct SummaryLine {
    /// `summary`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Version of the stream.
    pub schema: u32,
    /// How many tests ended with each verdict.
    #[serde(flatten)]
    pub counts: Counts,
    /// Tests whose numbers were compared and decided.
    pub compared: u64,
    /// Tests selected.
    pub selected: u64,
    /// What the command exits with.
    pub exit_code: u8,
}

/// A count for each verdict, under its word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Counts {
    /// Passed.
    pub pass: u64,
    /// Regressed.
    pub regressed: u64,
    /// Undecided.
    pub inconclusive: u64,
    /// Not the disk's numbers.
    pub invalid: u64,
    /// Nothing to compare with.
    pub no_baseline: u64,
    /// Another disk, workload, engine or schema.
    pub not_comparable: u64,
    /// Stopped.
    pub interrupted: u64,
    /// Could not run here.
    pub skipped: u64,
}

/// `report.json`: everything a run ends with, in one object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct Report {
    /// `report`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Version of the report.
    pub schema: u32,
    /// One a test, in the order they ran.
    pub verdicts: Vec<VerdictLine>,
    /// The sums.
    pub summary: SummaryLine,
}

impl Report {
    /// The report of a run.
    #[must_use]
    pub fn of(records: &[Record], exit_code: u8) -> Self {
        Self {
            kind: "report".into(),
            schema: SCHEMA,
            verdicts: records.iter().map(VerdictLine::from).collect(),
            summary: SummaryLine::of(records, exit_code),
        }
    }
}

impl SummaryLine {
    /// The summary of a run's records, skipped ones among them.
    #[must_use]
    pub fn of(records: &[Record], exit_code: u8) -> Self {
        Self::new(
            records.iter().map(|r| r.judgement.verdict),
            records.len() as u64,
            exit_code,
        )
    }

    /// The summary of a run's verdicts.
    #[must_use]
    pub fn new(verdicts: impl IntoIterator<Item = Verdict>, selected: u64, exit_code: u8) -> Self {
        let mut counts = Counts::default();
        let mut compared = 0;
        for verdict in verdicts {
            compared += u64::from(verdict.is_decided());
            *match verdict {
                Verdict::Pass => &mut counts.pass,
                Verdict::Regressed => &mut counts.regressed,
                Verdict::Inconclusive => &mut counts.inconclusive,
                Verdict::Invalid => &mut counts.invalid,
                Verdict::NoBaseline => &mut counts.no_baseline,
                Verdict::NotComparable => &mut counts.not_comparable,
                Verdict::Interrupted => &mut counts.interrupted,
                Verdict::Skipped => &mut counts.skipped,
            } += 1;
        }
        Self {
            kind: "summary".into(),
            schema: SCHEMA,
            counts,
            compared,
            selected,
            exit_code,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baseline::fixture::{baseline, disk, steady, test_with, three};
    use crate::verdict::{Evidence, judge};

    fn record() -> Record {
        let baseline = baseline(three());
        let test = test_with(0.05);
        let mut session = steady("n", 900, 2.0, 1.0, 0.01);
        session.settings.insert("scheduler".into(), "bfq".into());
        let evidence = Evidence {
            test: &test,
            sessions: &[session.clone()],
            disk: &disk(),
            settings: &session.settings,
            workload: &session.workload,
            baseline: Some((&baseline.tests["direct"], &baseline.disk)),
            by_model: false,
            max_sessions: 2,
        };
        Record {
            schema: SCHEMA,
            version: "0.1.0".into(),
            revision: None,
            suite: "sequential".into(),
            test: "direct".into(),
            text: "t1".into(),
            window: [100.0, 144.5],
            attempt: 1,
            trial: false,
            facts: None,
            judgement: judge(&evidence).into_judgement(),
            sessions: vec![session],
            advisory: false,
            refused: false,
            unconfirmed: false,
            signal: None,
            failed: false,
        }
    }

    #[test]
    fn a_record_comes_back_as_it_was_written() {
        let record = record();
        let text = serde_json::to_string(&record).expect("plain data");
        assert_eq!(
            serde_json::from_str::<Record>(&text).expect("its own form"),
            record
        );
    }

    #[test]
    fn a_verdict_line_has_the_fixed_fields_and_units() {
        let value = serde_json::to_value(VerdictLine::from(&record())).expect("plain data");
        let keys: Vec<&str> = value
            .as_object()
            .expect("an object")
            .keys()
            .map(String::as_str)
            .collect();
        let mut wanted = [
            "type",
            "schema",
            "suite",
            "test",
            "verdict",
            "reason",
            "rounds",
            "sessions",
            "bytes_read",
            "bytes_written",
            "seconds",
            "suspects",
            "notes",
            "metrics",
        ];
        wanted.sort_unstable();
        assert_eq!(keys, wanted);
        assert_eq!(value["type"], "verdict");
        assert_eq!(
            (&value["test"], &value["verdict"]),
            (&"direct".into(), &"pass".into())
        );
        assert_eq!(value["rounds"], 20);
        assert_eq!(value["bytes_read"], 2_000_000_000_u64);
        assert_eq!(value["suspects"][0]["name"], "scheduler");
        let metric = |name: &str| {
            let all = value["metrics"].as_array().expect("a list");
            all.iter()
                .find(|m| m["metric"] == name)
                .expect(name)
                .clone()
        };
        assert!(metric("read")["value"].is_u64() && metric("read_p50")["value"].is_u64());
        assert!(metric("ratio")["value"].is_f64() && metric("ratio")["change"].is_f64());
        assert!(metric("flush")["verdict"].is_null());
        assert_eq!(
            value["metrics"][0]["metric"], "ratio",
            "gated metrics first"
        );
    }

    #[test]
    fn a_summary_counts_every_verdict_under_its_word() {
        let line = SummaryLine::new(Verdict::ALL.into_iter().chain([Verdict::Pass]), 9, 3);
        let value = serde_json::to_value(line).expect("plain data");
        for verdict in Verdict::ALL {
            let want = if verdict == Verdict::Pass { 2 } else { 1 };
            assert_eq!(value[verdict.word()], want, "{value}");
        }
        assert_eq!(
            (&value["compared"], &value["selected"]),
            (&3.into(), &9.into())
        );
        assert_eq!(value["exit_code"], 3);
    }

    #[cfg(feature = "cli")]
    #[test]
    fn lines_fit_their_published_schema() {
        let schema = serde_json::to_value(schemars::schema_for!(VerdictLine)).expect("a schema");
        let line = serde_json::to_value(VerdictLine::from(&record())).expect("plain data");
        assert!(jsonschema::is_valid(&schema, &line));
        let schema = serde_json::to_value(schemars::schema_for!(SummaryLine)).expect("a schema");
        let line =
            serde_json::to_value(SummaryLine::new([Verdict::Pass], 1, 0)).expect("plain data");
        assert!(jsonschema::is_valid(&schema, &line));
    }
}
