//! One metric of a run against what is accepted and against its gate.

use std::collections::BTreeMap;

use super::{MetricResult, Reason, Verdict};
use crate::baseline::{BLOCKING_SESSIONS, Summary};
use crate::sample::Session;
use crate::stats::looks::{KEPT_ROUNDS, nominal_levels};
use crate::stats::{Change, Estimate, Looks, Past, SessionStat, Yield, share, theta, yields};
use crate::suite::{Gate, Metric, Tolerance};

/// Error with which a loss up to half the tolerance may be called a regression; shared by all gated metrics.
const ALPHA_REGRESSED: f64 = 0.025;
/// Error with which a loss of the tolerance may pass. All must pass, so nothing is shared (intersection-union).
const ALPHA_PASS: f64 = 0.05;
/// A regression must be significantly worse than this share of the tolerance.
const KAPPA: f64 = 0.5;
/// The loss, a share of one on either side, from which a provisional baseline fails a test: the metric halved.
const PROVISIONAL_LOSS: f64 = std::f64::consts::LN_2;
/// A spread within the session larger than the baseline's by this factor is worth a word.
const NOISE_GROWTH: f64 = 2.0;
/// Standard errors the estimate may still move by with the next session.
const MAY_MOVE: f64 = 2.0;

/// Everything about a run that is the same for all its metrics.
pub(super) struct Run<'a> {
    pub(super) sessions: &'a [Session],
    pub(super) measured: Vec<BTreeMap<Metric, Yield>>,
    /// What the accepted sessions yield; `None` without a baseline.
    pub(super) accepted: Option<Vec<BTreeMap<Metric, Yield>>>,
    pub(super) summary: Option<&'a BTreeMap<Metric, Summary>>,
    /// Metrics that share the error level.
    pub(super) gated_metrics: usize,
    pub(super) max_sessions: u32,
}

/// One metric, judged.
pub(super) struct Compared {
    pub(super) result: MetricResult,
    pub(super) reason: Option<Reason>,
    /// Another session would decide.
    pub(super) another: bool,
    /// ln(candidate / baseline), turned so that more is better, with its limits.
    pub(super) change: Option<Change>,
    /// What would help a metric whose noise hides the answer.
    pub(super) advice: Option<Advice>,
    /// How the session changed from first to last third, or by the order of the legs, as a share.
    pub(super) unsteady: Option<f64>,
    /// Spread within against the baseline's, where it grew much.
    pub(super) noise_growth: Option<f64>,
}

/// What would narrow the interval most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Advice {
    MoreSessions,
    MoreRounds,
}

/// Answer of the statistics alone.
struct Answer {
    verdict: Verdict,
    reason: Option<Reason>,
    another: bool,
}

impl Answer {
    fn plain(verdict: Verdict) -> Self {
        Self {
            verdict,
            reason: None,
            another: false,
        }
    }

    fn because(verdict: Verdict, reason: Reason) -> Self {
        Self {
            verdict,
            reason: Some(reason),
            another: false,
        }
    }
}

impl Run<'_> {
    /// The metric judged; `None` when this run does not yield it.
    pub(super) fn compare(&self, metric: &Metric, gate: Option<&Gate>) -> Option<Compared> {
        let value = yields::estimate_of(&self.measured, metric)?;
        let stats = yields::stats_of(&self.measured, metric)?;
        let better = metric.kind.higher_is_better();
        let accepted = self
            .accepted
            .as_ref()
            .and_then(|a| yields::stats_of(a, metric));
        let past = accepted.and_then(|stats| Past::new(&stats));
        let change = past.as_ref().and_then(|p| p.change(&stats));
        let share = change.map(|c| c.as_share(better));
        let tolerance = gate.and_then(|g| self.tolerance(metric, g, past.as_ref()));
        let bound = gate.and_then(|g| Bound::of(g, &value));
        let mut compared = Compared {
            result: MetricResult {
                metric: metric.clone(),
                unit: metric.kind.unit().to_owned(),
                value: value.value,
                lower: value.lower,
                upper: value.upper,
                baseline: past.as_ref().map(|p| {
                    if better {
                        p.mean.exp()
                    } else {
                        (-p.mean).exp()
                    }
                }),
                change: share.map(|s| s.value),
                change_lower: share.map(|s| s.lower),
                change_upper: share.map(|s| s.upper),
                tolerance,
                resolvable: None,
                floor: bound.as_ref().map(|b| b.at),
                ceiling: bound.as_ref().is_some_and(|b| b.ceiling),
                verdict: None,
                advisory: gate.is_some_and(|g| g.advisory),
                improved: false,
            },
            reason: None,
            another: false,
            change,
            advice: None,
            unsteady: None,
            noise_growth: past.as_ref().and_then(|p| noise_growth(p, &stats)),
        };
        if let Some(gate) = gate {
            let answer = if bound.is_some_and(|b| b.violated) {
                Answer::because(Verdict::Regressed, Reason::Floor)
            } else {
                self.judge(metric, gate, past.as_ref(), &stats, &mut compared)
            };
            compared.result.verdict = Some(answer.verdict);
            compared.reason = answer.reason;
            compared.another = answer.another;
        }
        Some(compared)
    }

    fn judge(
        &self,
        metric: &Metric,
        gate: &Gate,
        past: Option<&Past>,
        stats: &[SessionStat],
        compared: &mut Compared,
    ) -> Answer {
        if gate.tolerance == Tolerance::Unset {
            return Answer::plain(Verdict::Pass);
        }
        let better = metric.kind.higher_is_better();
        // Without a baseline the least tolerance stands in, so that the steadiness is told all the same.
        let theta = theta(
            compared
                .result
                .tolerance
                .unwrap_or(crate::stats::past::LEAST_TOLERANCE),
            better,
        );
        let unsteady = self.unsteady(metric, theta);
        compared.unsteady = unsteady.map(|(_, shift)| shift.exp_m1());
        if self.accepted.is_none() {
            return Answer {
                reason: unsteady.map(|(r, _)| r),
                ..Answer::plain(Verdict::NoBaseline)
            };
        }
        let (Some(past), Some(change)) = (past, compared.change) else {
            return Answer::plain(Verdict::NotComparable);
        };
        if !self
            .measured
            .iter()
            .all(|m| m.get(metric).is_some_and(Yield::gateable))
        {
            return Answer::because(Verdict::Inconclusive, Reason::Budget);
        }
        // What moved within a session hides no loss that is larger than the move and the tolerance together.
        if let Some((reason, shift)) = unsteady
            && change.delta + shift.abs() >= -theta
        {
            return Answer::because(Verdict::Inconclusive, reason);
        }
        let test = Sequential::new(self, past, theta);
        compared.result.resolvable = Some(share(change.resolvable(test.pass_level(stats)), better));
        let answer = test.decide(past, stats, &change);
        compared.result.improved = answer.verdict == Verdict::Pass && change.delta > theta;
        if answer.verdict == Verdict::Inconclusive {
            let sessions = past.sessions_would_help(change.tau2, KEPT_ROUNDS);
            compared.advice = Some(if sessions {
                Advice::MoreSessions
            } else {
                Advice::MoreRounds
            });
        }
        answer
    }

    /// The tolerance in force: as written, or the one stored with the accepted sessions.
    fn tolerance(&self, metric: &Metric, gate: &Gate, past: Option<&Past>) -> Option<f64> {
        match gate.tolerance {
            Tolerance::Given(share) => Some(share.0),
            Tolerance::Unset => None,
            Tolerance::Auto => {
                let stored = self
                    .summary
                    .and_then(|s| s.get(metric))
                    .map(|s| s.tolerance);
                let better = metric.kind.higher_is_better();
                let derived =
                    || past.map(|p| p.auto_tolerance(self.max_sessions, KEPT_ROUNDS, better));
                let auto = stored.or_else(derived);
                // Few sessions can resolve next to nothing; what halved must not pass for that.
                let most = share(PROVISIONAL_LOSS, better);
                match past {
                    Some(past) if past.sessions < BLOCKING_SESSIONS => auto.map(|t| t.min(most)),
                    _ => auto,
                }
            }
        }
    }

    /// A change of regime or an effect of the legs' order in any session, on the log scale.
    fn unsteady(&self, metric: &Metric, theta: f64) -> Option<(Reason, f64)> {
        let yields = || {
            self.measured
                .iter()
                .zip(self.sessions)
                .filter_map(|(m, s)| Some((m.get(metric)?, s)))
        };
        let regime = yields()
            .find_map(|(y, _)| y.regime_shift())
            .map(|d| (Reason::Regime, d));
        let order = || {
            yields()
                .find_map(|(y, s)| y.order_effect(s, theta))
                .map(|d| (Reason::CarryOver, d))
        };
        regime.or_else(order)
    }
}

/// `min` or `max` of a gate: the one that is violated, else the first that is set.
struct Bound {
    at: f64,
    ceiling: bool,
    /// The whole interval lies on its wrong side.
    violated: bool,
}

impl Bound {
    fn of(gate: &Gate, value: &Estimate) -> Option<Self> {
        let bound = |at: Option<f64>, ceiling: bool, violated: bool| {
            at.map(|at| Self {
                at,
                ceiling,
                violated,
            })
        };
        let min = bound(
            gate.min,
            false,
            gate.min.is_some_and(|min| value.upper < min),
        );
        let max = bound(
            gate.max,
            true,
            gate.max.is_some_and(|max| value.lower > max),
        );
        match max {
            Some(max) if max.violated => Some(max),
            max => min.or(max),
        }
    }
}

fn noise_growth(past: &Past, stats: &[SessionStat]) -> Option<f64> {
    let now = stats.iter().map(|s| s.var).sum::<f64>() / stats.len() as f64;
    let growth = (now / past.var).sqrt();
    (growth.is_finite() && growth > NOISE_GROWTH).then_some(growth)
}

/// The two one-sided tests of a metric and the levels they have at each look.
struct Sequential {
    /// The loss that must not pass.
    theta: f64,
    /// The loss that fails: the same, but never below one half while the baseline is provisional.
    failing: f64,
    provisional: bool,
    pass: Vec<f64>,
    regressed: Vec<f64>,
}

impl Sequential {
    fn new(run: &Run<'_>, past: &Past, theta: f64) -> Self {
        let looks = Looks::whole_sessions(run.max_sessions, KEPT_ROUNDS);
        let fractions = looks.fractions(past, past.tau(&[]).squared);
        let provisional = past.sessions < BLOCKING_SESSIONS;
        Self {
            theta,
            failing: if provisional {
                theta.max(PROVISIONAL_LOSS)
            } else {
                theta
            },
            provisional,
            pass: nominal_levels(&fractions, ALPHA_PASS),
            regressed: nominal_levels(
                &fractions,
                ALPHA_REGRESSED / run.gated_metrics.max(1) as f64,
            ),
        }
    }

    fn look(&self, stats: &[SessionStat]) -> usize {
        stats.len().clamp(1, self.pass.len()) - 1
    }

    fn pass_level(&self, stats: &[SessionStat]) -> f64 {
        self.pass[self.look(stats)]
    }

    fn passes(&self, change: &Change, look: usize) -> bool {
        change.p_within(self.theta) < self.pass[look]
    }

    fn is_worse(&self, change: &Change, look: usize) -> bool {
        change.delta < -self.failing
            && change.p_worse_than(KAPPA * self.failing) < self.regressed[look]
    }

    fn decide(&self, past: &Past, stats: &[SessionStat], change: &Change) -> Answer {
        let look = self.look(stats);
        let last = look + 1 == self.pass.len();
        if self.is_worse(change, look) {
            return if stats.len() > 1 {
                Answer::plain(Verdict::Regressed)
            } else {
                Answer {
                    another: !last,
                    ..Answer::because(Verdict::Inconclusive, Reason::Suspect)
                }
            };
        }
        if self.passes(change, look)
            || (change.delta >= -self.theta && self.passed_before(past, stats))
        {
            return Answer::plain(Verdict::Pass);
        }
        let reason = match () {
            () if change.delta < -self.failing => Reason::Suspect,
            () if self.provisional => Reason::Provisional,
            () if change.delta < -self.theta => Reason::Suspect,
            () => Reason::Noise,
        };
        Answer {
            another: !last && self.may_decide(past, stats, change, look + 1),
            ..Answer::because(Verdict::Inconclusive, reason)
        }
    }

    /// A metric that passed at an earlier look stays so unless it is worse now: the levels pay for both looks.
    fn passed_before(&self, past: &Past, stats: &[SessionStat]) -> bool {
        (1..stats.len()).any(|n| {
            let earlier = &stats[..n];
            past.change(earlier)
                .is_some_and(|c| self.passes(&c, self.look(earlier)))
        })
    }

    /// Whether the next look can be expected to decide either way. With independent increments the estimate will
    /// move by V − V′ in variance.
    fn may_decide(&self, past: &Past, stats: &[SessionStat], change: &Change, next: usize) -> bool {
        let mut rounds: Vec<u32> = stats.iter().map(|s| s.n).collect();
        rounds.push(if stats.iter().all(|s| s.n == 1) {
            1
        } else {
            KEPT_ROUNDS
        });
        let var = past.variance_after(change.tau2, change.within, &rounds);
        let reach = MAY_MOVE * (change.var - var).max(0.0).sqrt();
        [change.delta - reach, change.delta + reach]
            .into_iter()
            .any(|delta| {
                let then = Change {
                    delta,
                    var,
                    ..*change
                };
                self.passes(&then, next) || self.is_worse(&then, next)
            })
    }
}
