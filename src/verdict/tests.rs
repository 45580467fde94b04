//! Verdicts on hand-made sessions: a disk that reads 200 MB/s and writes 100 MB/s when it was accepted.

use super::*;
use crate::baseline::fixture::{baseline, disk, session, steady, test, test_with, three, workload};
use crate::baseline::{Baseline, LEAST_ROUNDS};
use crate::sample::{Fate, Latency};
use crate::suite::{Direction, Gate, MetricKind, Tolerance};
use crate::units::Fraction;

mod comparing;
mod simulated;
mod steadiness;

/// One judgement with everything that may be varied.
struct Case {
    test: Test,
    sessions: Vec<Session>,
    baseline: Option<Baseline>,
    disk: Identity,
    settings: Settings,
    workload: WorkloadKey,
    by_model: bool,
}

impl Case {
    fn new(sessions: Vec<Session>) -> Self {
        Self {
            test: test_with(0.05),
            settings: sessions
                .first()
                .map(|s| s.settings.clone())
                .unwrap_or_default(),
            sessions,
            baseline: Some(baseline(three())),
            disk: disk(),
            workload: workload(),
            by_model: false,
        }
    }

    /// Sessions of these read and write rates (100 MB/s).
    fn rates(rates: &[(f64, f64)]) -> Self {
        let sessions = rates.iter().enumerate();
        Self::new(
            sessions
                .map(|(i, (r, w))| steady(&format!("n{i}"), 900 + i as u64, *r, *w, 0.01))
                .collect(),
        )
    }

    fn look(&self) -> Look {
        let accepted = self
            .baseline
            .as_ref()
            .and_then(|b| b.tests.get("direct").map(|a| (a, &b.disk)));
        judge(&Evidence {
            test: &self.test,
            sessions: &self.sessions,
            disk: &self.disk,
            settings: &self.settings,
            workload: &self.workload,
            baseline: accepted,
            by_model: self.by_model,
            max_sessions: 2,
        })
    }

    fn done(&self) -> Judgement {
        match self.look() {
            Look::Done(judgement) => judgement,
            Look::AnotherSession(j) => panic!("wants another session: {}", j.detail),
        }
    }

    fn verdict(&self) -> (Verdict, Option<Reason>) {
        let judgement = self.done();
        (judgement.verdict, judgement.reason)
    }

    fn gate(&mut self, kind: MetricKind, change: impl Fn(&mut Gate)) -> &mut Self {
        let unset = Gate {
            tolerance: Tolerance::Unset,
            min: None,
            max: None,
            advisory: false,
        };
        change(self.test.gates.entry(kind.into()).or_insert(unset));
        self
    }
}

const READ: MetricKind = MetricKind::Rate(Direction::Read);
const WRITE: MetricKind = MetricKind::Rate(Direction::Write);

fn of(judgement: &Judgement, kind: MetricKind) -> &MetricResult {
    judgement
        .metrics
        .iter()
        .find(|m| m.metric == kind.into())
        .expect("measured")
}

#[test]
fn an_unchanged_disk_passes_after_one_session() {
    let judgement = Case::rates(&[(2.0, 1.0)]).done();
    assert_eq!(judgement.verdict, Verdict::Pass, "{}", judgement.detail);
    assert!(
        judgement.metrics[..3]
            .iter()
            .all(|m| m.verdict == Some(Verdict::Pass))
    );
    assert!(
        judgement.notes.is_empty() && judgement.suspects.is_empty() && judgement.moved.is_none()
    );
    assert!(
        judgement.detail.starts_with("ratio changed by ")
            && judgement.detail.ends_with("limit −5.0 %"),
        "{}",
        judgement.detail
    );
    assert_eq!(judgement.metric, Some(MetricKind::Ratio.into()));
}

#[test]
fn a_loss_of_half_the_tolerance_passes() {
    assert_eq!(Case::rates(&[(1.95, 1.0)]).verdict(), (Verdict::Pass, None));
}

#[test]
fn a_read_that_fell_by_twice_the_tolerance_is_suspect_first_and_regressed_when_confirmed() {
    let first = Case::rates(&[(1.8, 1.0)]).look();
    let Look::AnotherSession(first) = first else {
        panic!("one session must not fail: {first:?}")
    };
    assert_eq!(
        (first.verdict, first.reason),
        (Verdict::Inconclusive, Some(Reason::Suspect))
    );
    let judgement = Case::rates(&[(1.8, 1.0), (1.8, 1.0)]).done();
    assert_eq!(
        judgement.verdict,
        Verdict::Regressed,
        "{}",
        judgement.detail
    );
    assert_eq!(judgement.moved, Some(Moved::ReadFell));
    assert!(
        judgement.detail.starts_with("ratio changed by −10."),
        "{}",
        judgement.detail
    );
    assert_eq!(of(&judgement, WRITE).verdict, Some(Verdict::Pass));
}

#[test]
fn a_write_that_rose_fails_the_ratio_alone() {
    let judgement = Case::rates(&[(2.0, 1.12), (2.0, 1.12)]).done();
    assert_eq!(
        judgement.verdict,
        Verdict::Regressed,
        "{}",
        judgement.detail
    );
    assert_eq!(judgement.moved, Some(Moved::WriteRose));
    assert_eq!(of(&judgement, READ).verdict, Some(Verdict::Pass));
    assert!(of(&judgement, WRITE).improved);
    assert!(
        judgement
            .notes
            .iter()
            .any(|n| n.starts_with("improved: write +12")),
        "{:?}",
        judgement.notes
    );
}

#[test]
fn a_leg_off_by_less_than_half_the_tolerance_has_not_moved() {
    let moved = |write: f64| {
        let mut sessions = vec![
            steady("n0", 900, 1.8, write, 0.001),
            steady("n1", 901, 1.8, write, 0.001),
        ];
        sessions.iter_mut().for_each(|s| s.latency.clear());
        Case::new(sessions).done().moved
    };
    assert_eq!(
        moved(1.01),
        Some(Moved::ReadFell),
        "its interval is 1.01 all over"
    );
    assert_eq!(moved(1.04), Some(Moved::Both));
}

#[test]
fn read_down_and_write_up_are_told_apart_from_either() {
    let judgement = Case::rates(&[(1.8, 1.12), (1.8, 1.12)]).done();
    assert_eq!(judgement.moved, Some(Moved::Both));
}

#[test]
fn both_legs_down_alike_fail_on_their_own_while_the_ratio_passes() {
    let judgement = Case::rates(&[(1.8, 0.9), (1.8, 0.9)]).done();
    assert_eq!(judgement.verdict, Verdict::Regressed);
    assert_eq!(
        of(&judgement, MetricKind::Ratio).verdict,
        Some(Verdict::Pass)
    );
    assert_eq!(of(&judgement, READ).verdict, Some(Verdict::Regressed));
    assert_eq!(of(&judgement, WRITE).verdict, Some(Verdict::Regressed));
    assert!(
        judgement.notes.contains(&"slower as a whole".to_owned()),
        "{:?}",
        judgement.notes
    );
    assert!(
        judgement.detail.starts_with("read "),
        "{}",
        judgement.detail
    );
}

#[test]
fn a_loss_that_the_second_session_does_not_confirm_is_not_a_regression() {
    let judgement = Case::rates(&[(1.8, 1.0), (2.0, 1.0)]).done();
    assert_eq!(
        judgement.verdict,
        Verdict::Inconclusive,
        "{}",
        judgement.detail
    );
    assert!(
        judgement.detail.contains("this run could tell a loss of"),
        "{}",
        judgement.detail
    );
}

#[test]
fn a_leg_moved_when_its_interval_within_the_run_lies_off_what_is_accepted() {
    let moved = |noise: f64| {
        let mut sessions = vec![
            steady("n0", 900, 1.93, 1.08, noise),
            steady("n1", 901, 1.93, 1.08, noise),
        ];
        sessions.iter_mut().for_each(|s| s.latency.clear());
        Case::new(sessions).done().moved
    };
    assert_eq!(moved(0.01), Some(Moved::Both), "3 % down is seen");
    assert_ne!(moved(0.2), Some(Moved::Both), "3 % drown in the spread");
}

#[test]
fn the_suspect_metric_decides_before_one_that_is_only_noisy() {
    let mut case = Case::rates(&[(1.8, 0.9)]);
    let rates = [0.5, 1.0, 2.0];
    let sessions = rates.iter().enumerate();
    case.baseline = Some(baseline(
        sessions
            .map(|(k, w)| steady(&format!("s{k}"), k as u64, 2.0, *w, 0.01))
            .collect(),
    ));
    let look = case.look();
    let judgement = look.judgement();
    assert_eq!(judgement.reason, Some(Reason::Suspect));
    assert_eq!(judgement.metric, Some(READ.into()));
    assert_eq!(judgement.decisive().map(|m| &m.metric), Some(&READ.into()));
}

#[test]
fn a_loss_just_past_the_tolerance_is_suspect_and_says_so() {
    let (verdict, reason) = Case::rates(&[(1.89, 1.0), (1.89, 1.0)]).verdict();
    assert!(verdict != Verdict::Pass);
    if verdict == Verdict::Inconclusive {
        assert_eq!(reason, Some(Reason::Suspect));
    }
}

#[test]
fn a_noisy_baseline_answers_noise_with_the_loss_it_could_tell() {
    let mut case = Case::rates(&[(2.0, 1.0), (2.0, 1.0)]);
    let rates = [1.6, 2.0, 2.5];
    case.baseline = Some(baseline(
        rates
            .iter()
            .enumerate()
            .map(|(k, r)| steady(&format!("s{k}"), k as u64, *r, 1.0, 0.01))
            .collect(),
    ));
    let judgement = case.done();
    assert_eq!(
        (judgement.verdict, judgement.reason),
        (Verdict::Inconclusive, Some(Reason::Noise))
    );
    assert!(of(&judgement, READ).resolvable.expect("compared") > 0.2);
    assert!(
        judgement.detail.contains("more accepted sessions"),
        "{}",
        judgement.detail
    );
    case.test = test();
    assert_eq!(
        case.done().verdict,
        Verdict::Pass,
        "the stored tolerance is what this disk can resolve"
    );
}

#[test]
fn more_sessions_are_asked_for_only_when_one_could_decide() {
    let mut case = Case::rates(&[(1.9, 1.0)]);
    assert!(
        matches!(case.look(), Look::AnotherSession(_)),
        "on the limit, a second session may tell"
    );
    let rates = [1.0, 2.0, 4.0];
    case.baseline = Some(baseline(
        rates
            .iter()
            .enumerate()
            .map(|(k, r)| steady(&format!("s{k}"), k as u64, *r, 1.0, 0.01))
            .collect(),
    ));
    case.gate(WRITE, |g| g.advisory = true);
    assert!(
        matches!(case.look(), Look::Done(_)),
        "a spread of sessions that large drowns 5 % whatever follows"
    );
}

#[test]
fn a_provisional_baseline_fails_only_what_halved_and_says_so() {
    let one = || Some(baseline(three().into_iter().take(1).collect()));
    let judge = |rates: &[(f64, f64)]| {
        let mut case = Case::rates(rates);
        case.baseline = one();
        case.done()
    };
    let fell = judge(&[(1.6, 1.0), (1.6, 1.0)]);
    assert_eq!(
        (fell.verdict, fell.reason),
        (Verdict::Inconclusive, Some(Reason::Provisional)),
        "{}",
        fell.detail
    );
    let halved = judge(&[(0.9, 1.0), (0.9, 1.0)]);
    assert_eq!(halved.verdict, Verdict::Regressed, "{}", halved.detail);
    let same = judge(&[(2.0, 1.0), (2.0, 1.0)]);
    assert_eq!(same.verdict, Verdict::Pass, "{}", same.detail);
    for judgement in [fell, halved, same] {
        assert!(
            judgement.notes[0].starts_with("provisional: the baseline has 1 of 3"),
            "{:?}",
            judgement.notes
        );
    }
}

#[test]
fn a_provisional_baseline_fails_what_halved_however_little_it_can_resolve() {
    let mut case = Case::rates(&[(0.5, 1.0), (0.5, 1.0)]);
    let mut one = baseline(three().into_iter().take(1).collect());
    let accepted = one.tests.get_mut("direct").expect("the fixture's test");
    for summary in accepted.summary.values_mut() {
        summary.tolerance = 0.988; // as one session of a throttled disk was seen to store
    }
    case.baseline = Some(one);
    for kind in [MetricKind::Ratio, READ, WRITE] {
        case.gate(kind, |g| g.tolerance = Tolerance::Auto);
    }
    let judgement = case.done();
    assert_eq!(
        judgement.verdict,
        Verdict::Regressed,
        "{}",
        judgement.detail
    );
    let tolerance = of(&judgement, MetricKind::Ratio)
        .tolerance
        .expect("an auto tolerance");
    assert!((tolerance - 0.5).abs() < 1e-9, "{tolerance}");
}

#[test]
fn latency_is_worse_when_it_rises() {
    let slow = |mut s: Session, ns: u64| {
        s.latency = vec![Latency {
            direction: Direction::Read,
            counts: vec![[ns, 10_000], [9 * ns, 100]],
        }];
        s
    };
    let kind = MetricKind::Latency(Direction::Read, 990);
    let judge = |ns: u64| {
        let mut case = Case::rates(&[(2.0, 1.0), (2.0, 1.0)]);
        case.baseline = Some(baseline(
            three().into_iter().map(|s| slow(s, 1_000_000)).collect(),
        ));
        case.sessions = case.sessions.into_iter().map(|s| slow(s, ns)).collect();
        case.gate(kind, |g| g.tolerance = Tolerance::Given(Fraction(0.1)));
        case.done()
    };
    let rose = judge(1_500_000);
    assert_eq!(
        of(&rose, kind).verdict,
        Some(Verdict::Regressed),
        "{}",
        rose.detail
    );
    assert!((of(&rose, kind).change.expect("compared") - 0.5).abs() < 0.01);
    assert!(rose.detail.contains("limit +10.0 %"), "{}", rose.detail);
    assert_eq!(of(&judge(1_000_000), kind).verdict, Some(Verdict::Pass));
    let fell = judge(500_000);
    assert!(of(&fell, kind).improved, "{:?}", of(&fell, kind));
}

#[test]
fn several_gated_metrics_share_the_level() {
    let mut case = Case::rates(&[(1.8, 1.0), (1.8, 1.0)]);
    let rates = [1.97, 2.0, 2.03];
    let sessions = rates.iter().enumerate();
    case.baseline = Some(baseline(
        sessions
            .map(|(k, r)| steady(&format!("s{k}"), k as u64, *r, 1.0, 0.01))
            .collect(),
    ));
    case.test.gated_metrics = 1;
    assert_eq!(case.verdict().0, Verdict::Regressed);
    case.test.gated_metrics = 2_000;
    assert_eq!(
        case.verdict().0,
        Verdict::Inconclusive,
        "the same drop among two thousand metrics is no news"
    );
}

#[test]
fn the_worst_verdict_hides_the_others() {
    use Verdict::{
        Inconclusive, Interrupted, Invalid, NoBaseline, NotComparable, Pass, Regressed, Skipped,
    };
    let order = [
        Interrupted,
        Regressed,
        Invalid,
        NotComparable,
        NoBaseline,
        Inconclusive,
        Pass,
        Skipped,
    ];
    for (i, verdict) in order.into_iter().enumerate() {
        assert_eq!(worst(order[i..].iter().rev().copied()), Some(verdict));
    }
    assert_eq!(worst([]), None);
    for verdict in Verdict::ALL {
        assert_eq!(
            serde_json::to_value(verdict).expect("a word"),
            verdict.word()
        );
    }
}

#[test]
fn trials_are_described_and_never_judged() {
    let before = steady("a", 0, 2.0, 1.0, 0.01);
    let mut now = steady("b", 9, 1.0, 1.0, 0.01);
    now.workload.insert("leg_bytes".into(), "1 MiB".into());
    let changes = compare_trials(&before, &now);
    let ratio = changes
        .iter()
        .find(|c| c.metric == MetricKind::Ratio.into())
        .expect("a pair");
    assert!((ratio.change.value + 0.5).abs() < 0.01, "{ratio:?}");
    assert!(ratio.change.lower < ratio.change.value && ratio.change.value < ratio.change.upper);
    now.workload.insert("block".into(), "1 MiB".into());
    assert!(
        compare_trials(&before, &now).is_empty(),
        "other work is not compared"
    );
}
