//! The whole judgement on simulated disks: what it costs to be wrong either way, with seeds fixed.

use super::*;

/// A disk by its spread of rounds and of sessions, on the log scale.
struct Disk {
    rounds: f64,
    sessions: f64,
    rng: fastrand::Rng,
}

impl Disk {
    fn new(rounds: f64, sessions: f64) -> Self {
        Self {
            rounds,
            sessions,
            rng: fastrand::Rng::with_seed(7),
        }
    }

    /// Box and Muller.
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.rng.f64().max(1e-12).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.rng.f64()).cos()
    }

    /// A session whose read rate is lower by a share.
    fn measure(&mut self, id: &str, at: u64, loss: f64) -> Session {
        let (read, write) = (self.normal() * self.sessions, self.normal() * self.sessions);
        let mut leg = |base: f64, effect: f64| base * (effect + self.rounds * self.normal()).exp();
        let rates: Vec<_> = (0..20)
            .map(|_| (leg(2.0 * (1.0 - loss), read), leg(1.0, write)))
            .collect();
        session(id, at, &rates)
    }

    /// Baselines of three sessions and runs against them, the loss in multiples of the stored tolerance: how many
    /// runs end with each verdict.
    fn runs(&mut self, loss: f64) -> std::collections::BTreeMap<Verdict, u32> {
        let mut ends = std::collections::BTreeMap::new();
        for _ in 0..12 {
            let accepted = baseline(
                (0..3)
                    .map(|k| self.measure(&format!("s{k}"), k, 0.0))
                    .collect(),
            );
            let tolerance = accepted.tests["direct"].summary[&MetricKind::Ratio.into()].tolerance;
            let mut case = Case::new(vec![self.measure("n0", 900, loss * tolerance)]);
            case.test = test();
            case.test.gated_metrics = 9;
            case.baseline = Some(accepted);
            if matches!(case.look(), Look::AnotherSession(_)) {
                case.sessions
                    .push(self.measure("n1", 1_000, loss * tolerance));
            }
            *ends.entry(case.done().verdict).or_insert(0) += 1;
        }
        ends
    }
}

#[test]
fn a_steady_disk_passes_at_half_the_tolerance_and_fails_at_twice() {
    let mut disk = Disk::new(0.003, 0.001);
    assert_eq!(disk.runs(0.0), [(Verdict::Pass, 12)].into());
    assert_eq!(disk.runs(0.5), [(Verdict::Pass, 12)].into());
    assert_eq!(disk.runs(2.0), [(Verdict::Regressed, 12)].into());
}

#[test]
fn a_shaky_disk_is_never_failed_unchanged_nor_passed_at_twice_the_tolerance() {
    let mut disk = Disk::new(0.05, 0.02);
    let unchanged = disk.runs(0.0);
    assert_eq!(unchanged.get(&Verdict::Regressed), None, "{unchanged:?}");
    let worse = disk.runs(2.0);
    assert_eq!(worse.get(&Verdict::Pass), None, "{worse:?}");
}
