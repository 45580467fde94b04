//! What is judged: `[gate]` for a suite, `[test.gate]` for a test, and what is judged without either.
//!
//! A metric's entry in `[test.gate]` replaces the one in `[gate]` whole; keys of the two are not mixed.

use std::collections::BTreeMap;

use toml::de::DeValue;

use super::values::Field;
use super::written::{Fault, Faults, did_you_mean, in_order, one_of, printable, quote};
use super::{EngineKind, Gate, Metric, MetricKind, Test, Tolerance, Workload};
use crate::units::{Fraction, Rate, UnitError, parse_duration};

const KEYS: [&str; 4] = ["tolerance", "min", "max", "advisory"];
const LIKE_GATE: &str = "false, or a table such as { tolerance = \"5%\", min = 0.5 }";

/// One metric's entry.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    metric: Metric,
    /// As written, dotted.
    key: String,
    /// Byte offset of the metric's name.
    at: usize,
    /// `None` is `read = false`: the metric is taken out.
    limits: Option<Limits>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Limits {
    tolerance: Option<Tolerance>,
    min: Option<f64>,
    max: Option<f64>,
    advisory: bool,
}

/// Reads a gate table; metrics of named legs are written `"seq.read"`, `seq.read` or `[gate.seq]`.
pub(super) fn read(field: Field<'_, '_>, faults: &mut Faults) -> Vec<Rule> {
    let mut rules = Vec::new();
    read_level(field, None, &mut rules, faults);
    let mut seen = Vec::new();
    for rule in &rules {
        if seen.contains(&&rule.metric) {
            let found = format!("a second entry for {}", quote(&rule.metric.to_string()));
            faults.push(Fault::new(rule.at, &rule.key, found, "one entry a metric"));
        }
        seen.push(&rule.metric);
    }
    rules
}

fn read_level(field: Field<'_, '_>, leg: Option<&str>, rules: &mut Vec<Rule>, faults: &mut Faults) {
    let DeValue::Table(table) = field.value.get_ref() else {
        faults.push(field.fault("a table of metrics, such as ratio = { tolerance = \"5%\" }"));
        return;
    };
    for (name, span, value) in in_order(table) {
        let dotted = format!("{}.{}", field.key, printable(name));
        let entry = Field::new(&dotted, value);
        let full = leg.map_or_else(|| name.to_owned(), |leg| format!("{leg}.{name}"));
        match full.parse::<Metric>() {
            Ok(metric) => rules.extend(read_rule(metric, span.start, entry, faults)),
            Err(_) if leg.is_none() && holds_metrics(value.get_ref()) => {
                read_level(entry, Some(name), rules, faults);
            }
            Err(_) => faults.push(no_metric(name, &dotted, span.start)),
        }
    }
}

/// Whether a table is `[gate.LEG]`, told by a metric among its keys.
fn holds_metrics(value: &DeValue<'_>) -> bool {
    let DeValue::Table(table) = value else {
        return false;
    };
    table
        .iter()
        .any(|(key, _)| key.get_ref().parse::<Metric>().is_ok())
}

fn no_metric(name: &str, key: &str, at: usize) -> Fault {
    let metrics: Vec<String> = MetricKind::all().iter().map(ToString::to_string).collect();
    let names = || metrics.iter().map(String::as_str);
    let found = format!("an unknown metric {}", quote(name));
    let mut fault = Fault::new(at, key, found, one_of(names()));
    fault.hint = did_you_mean(name, names());
    if KEYS.contains(&name) {
        fault.hint = Some(format!(
            "`{name}` belongs to a metric: ratio = {{ {name} = … }}"
        ));
    }
    fault
}

fn read_rule(metric: Metric, at: usize, entry: Field<'_, '_>, faults: &mut Faults) -> Option<Rule> {
    let limits = match entry.value.get_ref() {
        DeValue::Boolean(false) => None,
        DeValue::Table(_) => Some(read_limits(metric.kind, entry, faults)?),
        other => {
            let fault = entry.fault(LIKE_GATE);
            faults.push(match other {
                DeValue::Boolean(true) => fault.hint(format!(
                    "{metric} = {{}} gates it with the calibrated tolerance"
                )),
                DeValue::String(_) => fault.hint(format!("{metric} = {{ tolerance = \"5%\" }}")),
                _ => fault,
            });
            return None;
        }
    };
    Some(Rule {
        metric,
        key: entry.key.to_owned(),
        at,
        limits,
    })
}

fn read_limits(kind: MetricKind, field: Field<'_, '_>, faults: &mut Faults) -> Option<Limits> {
    let before = faults.len();
    let mut limits = Limits::default();
    for (key, value) in field.table(LIKE_GATE, &KEYS, faults)? {
        let dotted = format!("{}.{key}", field.key);
        let entry = Field::new(&dotted, value);
        match key {
            "tolerance" => limits.tolerance = faults.note(read_tolerance(entry)),
            "min" => limits.min = faults.note(read_bound(kind, entry)),
            "max" => limits.max = faults.note(read_bound(kind, entry)),
            _ => limits.advisory = faults.note(entry.flag()).unwrap_or_default(),
        }
    }
    if let (Some(min), Some(max)) = (limits.min, limits.max)
        && min > max
    {
        let found = "a min above the max";
        faults.push(Fault::new(
            field.at(),
            field.key,
            found,
            "min no larger than max",
        ));
    }
    (faults.len() == before).then_some(limits)
}

fn read_tolerance(field: Field<'_, '_>) -> Result<Tolerance, Fault> {
    const LIKE: &str = "\"auto\", or a share above 0% and below 100% such as \"5%\"";
    if field.text(LIKE)? == "auto" {
        return Ok(Tolerance::Auto);
    }
    let share: Fraction = field.quantity(LIKE).map_err(|fault| Fault {
        allowed: LIKE.to_owned(),
        ..fault
    })?;
    if share.0 > 0.0 && share.0 < 1.0 {
        Ok(Tolerance::Given(share))
    } else {
        Err(field.fault(LIKE))
    }
}

/// A floor or ceiling in the metric's unit.
fn read_bound(kind: MetricKind, field: Field<'_, '_>) -> Result<f64, Fault> {
    match kind {
        MetricKind::Ratio | MetricKind::Iops(_) | MetricKind::Files => field.number(),
        MetricKind::Rate(_) | MetricKind::WriteAccepted => {
            let rate: Rate = field.quantity("a rate in quotes, such as \"500 MB/s\"")?;
            Ok(rate.0)
        }
        MetricKind::Latency(..) | MetricKind::Flush => {
            let time = field.parsed("a time in quotes, such as \"2ms\"", parse_duration)?;
            Ok(time.as_nanos() as f64)
        }
        MetricKind::Cpu => field.parsed("CPU time a byte in quotes, such as \"0.5 ns/B\"", cpu),
    }
}

fn cpu(text: &str) -> Result<f64, UnitError> {
    let number = text.trim().strip_suffix("ns/B").map(str::trim_end);
    let plain = |n: &&str| n.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let number: Option<f64> = number.filter(plain).and_then(|n| n.parse().ok());
    number.filter(|n| n.is_finite()).ok_or_else(|| UnitError {
        found: quote(text),
        expected: "nanoseconds of CPU a byte, such as \"0.5 ns/B\"".to_owned(),
    })
}

/// Faults for entries that none of the workloads yields: a gate that can never close is a slip.
pub(super) fn check_yield(
    rules: &[Rule],
    workloads: &[&Workload],
    whose: &str,
    faults: &mut Faults,
) {
    if rules.is_empty() {
        return;
    }
    let judged = workloads.iter().filter(|w| w.engine != EngineKind::Null);
    let mut yielded: Vec<Metric> = judged.flat_map(|workload| workload.metrics()).collect();
    yielded.sort();
    yielded.dedup();
    let names: Vec<String> = yielded.iter().map(ToString::to_string).collect();
    for rule in rules.iter().filter(|rule| !yielded.contains(&rule.metric)) {
        let name = rule.metric.to_string();
        let found = format!("a gate on {}, which {whose} does not yield", quote(&name));
        let fault = if names.is_empty() {
            let fault = Fault::new(rule.at, &rule.key, found, "no gate keys here");
            fault.hint("the null engine does no I/O, so its figures are never judged")
        } else {
            let names = || names.iter().map(String::as_str);
            let mut fault = Fault::new(rule.at, &rule.key, found, one_of(names()));
            fault.hint = did_you_mean(&name, names());
            fault
        };
        faults.push(fault);
    }
}

/// The gates of one test: the defaults, then `[gate]`, then `[test.gate]`.
pub(super) fn resolve(
    workload: &Workload,
    suite: &[Rule],
    test: &[Rule],
) -> BTreeMap<Metric, Gate> {
    let default = workload.gated_by_default();
    let open = Gate {
        tolerance: Tolerance::Auto,
        min: None,
        max: None,
        advisory: false,
    };
    let mut gates: BTreeMap<Metric, Gate> = default.iter().map(|m| (m.clone(), open)).collect();
    if workload.engine == EngineKind::Null {
        return gates;
    }
    let yielded = workload.metrics();
    for rule in suite.iter().chain(test) {
        if !yielded.contains(&rule.metric) {
            continue;
        }
        match rule.limits {
            None => gates.remove(&rule.metric),
            Some(limits) => {
                let gate = limits.gate(default.contains(&rule.metric));
                gates.insert(rule.metric.clone(), gate)
            }
        };
    }
    gates
}

impl Limits {
    /// A metric that is gated anyway keeps `auto` beside a floor; another one is judged by its floor alone.
    fn gate(self, by_default: bool) -> Gate {
        let bounded = self.min.is_some() || self.max.is_some();
        let unwritten = match bounded && !by_default {
            true => Tolerance::Unset,
            false => Tolerance::Auto,
        };
        Gate {
            tolerance: self.tolerance.unwrap_or(unwritten),
            min: self.min,
            max: self.max,
            advisory: self.advisory,
        }
    }
}

/// How many metrics of a test can fail, each of which takes its share of the suite's error level.
pub(super) fn weight(test: &Test) -> usize {
    let failing = test.gates.values().filter(|gate| !gate.advisory);
    if test.advisory { 0 } else { failing.count() }
}
