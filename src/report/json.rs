//! The JSON stream: one object a line. Rates are integers of bytes per second, times integers of nanoseconds,
//! ratios plain numbers; what cannot be a number is `null`.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;

use super::{reason_word, verdict_word};
use crate::record::{Record, SCHEMA};
use crate::sample::{Fate, Session};
use crate::suite::Direction;
use crate::verdict::{MetricResult, Suspect, Verdict};

/// The `verdict` object of one test.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JsonVerdict {
    #[serde(rename = "type")]
    kind: &'static str,
    schema: u32,
    suite: String,
    test: String,
    verdict: Verdict,
    reason: Option<&'static str>,
    rounds: usize,
    sessions: usize,
    bytes_read: u64,
    bytes_written: u64,
    seconds: f64,
    suspects: Vec<Suspect>,
    metrics: Vec<JsonMetric>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct JsonMetric {
    metric: String,
    unit: String,
    value: Value,
    lower: Value,
    upper: Value,
    baseline: Value,
    change: Value,
    change_lower: Value,
    change_upper: Value,
    tolerance: Value,
    floor: Value,
    verdict: Option<Verdict>,
}

/// The `summary` object of a run: a count for each verdict by its word, then the sums.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JsonSummary {
    #[serde(rename = "type")]
    kind: &'static str,
    schema: u32,
    #[serde(flatten)]
    counts: BTreeMap<&'static str, usize>,
    compared: usize,
    selected: usize,
    exit_code: u8,
}

impl From<&Record> for JsonVerdict {
    fn from(record: &Record) -> Self {
        let judgement = &record.judgement;
        let moved = |way| record.sessions.iter().map(|s| bytes(s, way)).sum();
        Self {
            kind: "verdict",
            schema: SCHEMA,
            suite: record.suite.clone(),
            test: record.test.clone(),
            verdict: judgement.verdict,
            reason: judgement.reason.map(reason_word),
            rounds: record.sessions.iter().map(kept).sum(),
            sessions: record.sessions.len(),
            bytes_read: moved(Direction::Read),
            bytes_written: moved(Direction::Write),
            seconds: record.window[1] - record.window[0],
            suspects: judgement.suspects.clone(),
            metrics: judgement.metrics.iter().map(JsonMetric::from).collect(),
        }
    }
}

impl From<&MetricResult> for JsonMetric {
    fn from(m: &MetricResult) -> Self {
        let in_unit = |value: f64| match m.unit.as_str() {
            "B/s" | "ns" => whole(value),
            _ => Value::from(value),
        };
        let share = |value: Option<f64>| value.map_or(Value::Null, Value::from);
        Self {
            metric: m.metric.to_string(),
            unit: m.unit.clone(),
            value: in_unit(m.value),
            lower: in_unit(m.lower),
            upper: in_unit(m.upper),
            baseline: m.baseline.map_or(Value::Null, in_unit),
            change: share(m.change),
            change_lower: share(m.change_lower),
            change_upper: share(m.change_upper),
            tolerance: share(m.tolerance),
            floor: m.floor.map_or(Value::Null, in_unit),
            verdict: m.verdict,
        }
    }
}

impl JsonSummary {
    /// Sums up a run. `compared` are the tests that had a baseline and were held against it.
    #[must_use]
    pub fn of(records: &[Record], selected: usize, exit_code: u8) -> Self {
        let all = [
            Verdict::Pass,
            Verdict::Regressed,
            Verdict::Inconclusive,
            Verdict::Invalid,
            Verdict::NoBaseline,
            Verdict::NotComparable,
            Verdict::Interrupted,
            Verdict::Skipped,
        ];
        let of = |verdict| move |r: &&Record| r.judgement.verdict == verdict;
        let counts = all.map(|v| (verdict_word(v), records.iter().filter(of(v)).count()));
        let compared = |r: &&Record| r.judgement.metrics.iter().any(|m| m.baseline.is_some());
        Self {
            kind: "summary",
            schema: SCHEMA,
            counts: counts.into_iter().collect(),
            compared: records.iter().filter(compared).count(),
            selected,
            exit_code,
        }
    }
}

/// Writes one object and the end of its line in a single call, so that lines of several writers stay whole.
///
/// # Errors
/// The writer's.
pub fn write_line(out: &mut dyn Write, object: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(object)?;
    line.push(b'\n');
    out.write_all(&line)?;
    out.flush()
}

/// A whole number; `null` for what is none.
fn whole(value: f64) -> Value {
    if !value.is_finite() {
        return Value::Null;
    }
    let rounded = value.round();
    if rounded >= 0.0 {
        Value::from(rounded as u64)
    } else {
        Value::from(rounded as i64)
    }
}

fn kept(session: &Session) -> usize {
    let kept = session.rounds.iter().filter(|r| r.fate == Fate::Kept);
    kept.count()
}

/// Bytes one way over all rounds, dropped ones included: what the disk had to bear.
fn bytes(session: &Session, way: Direction) -> u64 {
    let legs = session.rounds.iter().flat_map(|round| &round.legs);
    legs.filter(|leg| leg.direction == way)
        .map(|leg| leg.bytes.0)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing::{drawn, inconclusive, invalid, no_baseline, pass, regressed};

    #[test]
    fn a_verdict_is_one_line_with_the_fields_pipelines_depend_on() {
        let mut record = regressed();
        record.judgement.metrics.remove(0);
        record.judgement.metrics.truncate(1);
        record.judgement.reason = Some(crate::verdict::Reason::CarryOver);
        let verdict = JsonVerdict::from(&record);
        let text = drawn(|out| write_line(out, &verdict));
        assert_eq!(text.matches('\n').count(), 1);
        insta::assert_snapshot!(serde_json::to_string_pretty(&verdict).unwrap(), @r#"
        {
          "type": "verdict",
          "schema": 1,
          "suite": "sequential",
          "test": "direct",
          "verdict": "regressed",
          "reason": "carry-over",
          "rounds": 4,
          "sessions": 2,
          "bytes_read": 536870912,
          "bytes_written": 536870912,
          "seconds": 50.5,
          "suspects": [
            {
              "name": "read_ahead_kb",
              "baseline": "128",
              "now": "0"
            },
            {
              "name": "scheduler",
              "baseline": "mq-deadline",
              "now": ""
            }
          ],
          "metrics": [
            {
              "metric": "read",
              "unit": "B/s",
              "value": 66000000,
              "lower": 63360000,
              "upper": 68640000,
              "baseline": 205000000,
              "change": -0.6780487804878048,
              "change_lower": -0.6980487804878048,
              "change_upper": -0.6580487804878048,
              "tolerance": 0.06,
              "floor": null,
              "verdict": "regressed"
            }
          ]
        }
        "#);
    }

    #[test]
    fn a_summary_counts_every_verdict_and_what_was_compared() {
        let records = [
            pass(),
            regressed(),
            inconclusive(),
            invalid(),
            no_baseline(),
        ];
        let text = drawn(|out| write_line(out, &JsonSummary::of(&records, 6, 3)));
        insta::assert_snapshot!(text, @r#"{"type":"summary","schema":1,"inconclusive":1,"interrupted":0,"invalid":1,"no-baseline":1,"not-comparable":0,"pass":1,"regressed":1,"skipped":0,"compared":3,"selected":6,"exit_code":3}"#);
    }

    #[test]
    fn what_is_no_number_is_null_and_text_stays_json() {
        let mut record = regressed();
        record.test = "a\"b\u{1b}\n".into();
        record.judgement.metrics[1].value = f64::NAN;
        record.judgement.metrics[0].value = f64::INFINITY;
        let text = drawn(|out| write_line(out, &JsonVerdict::from(&record)));
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["test"], "a\"b\u{1b}\n");
        assert!(value["metrics"][0]["value"].is_null() && value["metrics"][1]["value"].is_null());
        assert!(!text.contains('\u{1b}') && text.matches('\n').count() == 1);
    }
}
