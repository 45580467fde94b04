//! Sessions that decide nothing, whatever their figures.

use super::*;
use crate::suite::Proof;

#[test]
fn the_null_engine_is_timed_and_never_judged() {
    let mut case = Case::rates(&[(0.1, 1.0), (0.1, 1.0)]);
    for session in &mut case.sessions {
        session.workload.insert("engine".into(), "null".into());
    }
    let judgement = case.done();
    assert_eq!(judgement.verdict, Verdict::Skipped);
    assert_eq!(
        judgement.detail,
        "null engine does no I/O: timed, never judged"
    );
    assert!(!judgement.metrics.is_empty() && judgement.metrics.iter().all(|m| m.verdict.is_none()));
}

#[test]
fn too_few_or_too_disturbed_rounds_decide_nothing() {
    let mut case = Case::rates(&[(1.0, 1.0)]);
    for round in &mut case.sessions[0].rounds[LEAST_ROUNDS - 1..] {
        round.fate = Fate::WarmUp;
    }
    assert_eq!(
        case.verdict(),
        (Verdict::Inconclusive, Some(Reason::Budget))
    );
    for round in &mut case.sessions[0].rounds[..LEAST_ROUNDS] {
        round.fate = Fate::Void("foreign reads".into());
    }
    assert_eq!(
        case.verdict(),
        (Verdict::Inconclusive, Some(Reason::Disturbed))
    );
    case.baseline = None;
    assert_eq!(
        case.verdict().0,
        Verdict::NoBaseline,
        "a run without baseline is never softer than that"
    );
    case.sessions.clear();
    assert_eq!(case.verdict().1, Some(Reason::Budget));
}

#[test]
fn bytes_that_nothing_vouches_for_decide_nothing_unless_no_proof_is_asked_for() {
    let mut case = Case::rates(&[(2.0, 1.0)]);
    for leg in case.sessions[0].rounds.iter_mut().flat_map(|r| &mut r.legs) {
        leg.device = None;
    }
    assert_eq!(
        case.verdict().0,
        Verdict::Pass,
        "the process's own account will do"
    );
    for leg in case.sessions[0].rounds.iter_mut().flat_map(|r| &mut r.legs) {
        leg.own = Some(crate::units::Bytes(0));
    }
    assert_eq!(
        case.verdict(),
        (Verdict::Inconclusive, Some(Reason::Unproven))
    );
    case.test.workload.proof = Proof::None;
    assert_eq!(case.verdict().0, Verdict::Pass);
}

#[test]
fn a_rate_that_changes_within_the_session_is_a_regime() {
    let mut rates = vec![(2.0, 1.0); 20];
    for (i, rate) in rates.iter_mut().enumerate() {
        rate.0 = if i < 10 { 2.0 } else { 1.5 } + 0.01 * (i % 3) as f64;
    }
    let judgement = Case::new(vec![session("n", 900, &rates)]).done();
    assert_eq!(
        (judgement.verdict, judgement.reason),
        (Verdict::Inconclusive, Some(Reason::Regime))
    );
    assert!(
        judgement
            .detail
            .contains("from the first rounds to the last"),
        "{}",
        judgement.detail
    );
}

#[test]
fn a_change_within_the_session_hides_no_loss_larger_than_itself() {
    let halves = |first: f64, last: f64| {
        let of = |i: usize| if i < 10 { first } else { last };
        let rates: Vec<_> = (0..20)
            .map(|i| (of(i) + 0.003 * (i % 3) as f64, 1.0))
            .collect();
        Case::new(vec![session("n", 900, &rates), session("m", 990, &rates)])
            .verdict()
            .0
    };
    assert_eq!(
        halves(0.1, 0.12),
        Verdict::Regressed,
        "a twentieth, whatever moved"
    );
    assert_eq!(
        halves(1.9, 1.6),
        Verdict::Inconclusive,
        "the first half was as accepted"
    );
}

#[test]
fn a_leg_that_shapes_the_next_is_carry_over() {
    let rates: Vec<(f64, f64)> = (0..20)
        .map(|i| {
            (
                if i % 2 == 0 { 2.1 } else { 1.9 } + 0.003 * (i % 5) as f64,
                1.0,
            )
        })
        .collect();
    let (verdict, reason) = Case::new(vec![session("n", 900, &rates)]).verdict();
    assert_eq!(
        (verdict, reason),
        (Verdict::Inconclusive, Some(Reason::CarryOver))
    );
}

#[test]
fn noise_that_grew_is_noted() {
    let case = Case::new(vec![
        steady("n0", 900, 2.0, 1.0, 0.04),
        steady("n1", 901, 2.0, 1.0, 0.04),
    ]);
    let look = case.look();
    assert!(
        look.judgement()
            .notes
            .iter()
            .any(|n| n.starts_with("noisier: ratio")),
        "{:?}",
        look.judgement().notes
    );
}
