//! How small a p-value must be at each look when the data may be looked at more than once.
//!
//! Lan and DeMets (1983) with the linear spending α·t: at information fraction t the share α·t of the error may have
//! been spent. The nominal levels follow from the joint distribution of the estimates by the recursion of Armitage,
//! McPherson and Rowe (1969). It holds for any fractions and for sessions that share an effect, since the estimates
//! keep independent increments.

use super::Past;
use super::dist::{normal_above, normal_density};

/// Rounds a session of this version keeps.
pub const KEPT_ROUNDS: u32 = 20;
/// Sessions a run of this version may take.
pub const MOST_SESSIONS: u32 = 2;

/// Rounds of every session at each look, in the order of looking: `[[20], [20, 20]]` looks once after a session of
/// twenty rounds and once after a second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looks(Vec<Vec<u32>>);

/// Least distance of two information fractions: nearer looks are one, and spend nothing more.
const LEAST_STEP: f64 = 1e-6;
/// Lower end of the integration, in standard deviations.
const FAR: f64 = 8.0;
/// Steps of the grid per standard deviation of the next increment, and the least and most steps of a grid.
const STEPS_PER_SD: f64 = 8.0;
const STEPS: (f64, f64) = (512.0, 4096.0);

impl Looks {
    /// The looks given; `None` when there is none or one of them has no rounds.
    #[must_use]
    pub fn new(looks: Vec<Vec<u32>>) -> Option<Self> {
        let fine = |look: &Vec<u32>| !look.is_empty() && look.iter().all(|&n| n > 0);
        (!looks.is_empty() && looks.iter().all(fine)).then_some(Self(looks))
    }

    /// One look after each whole session of `rounds` rounds.
    #[must_use]
    pub fn whole_sessions(sessions: u32, rounds: u32) -> Self {
        let rounds = rounds.max(1);
        Self(
            (1..=sessions.max(1))
                .map(|s| vec![rounds; s as usize])
                .collect(),
        )
    }

    /// Number of looks.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Rounds of each session at a look; the last one's beyond the end.
    #[must_use]
    pub fn at(&self, look: usize) -> &[u32] {
        &self.0[look.min(self.0.len() - 1)]
    }

    /// Information fraction of each look: V of the last look over V of this one. `tau2` must come from the baseline
    /// alone, before any new session is seen.
    #[must_use]
    pub fn fractions(&self, past: &Past, tau2: f64) -> Vec<f64> {
        let variance = |look: &Vec<u32>| past.variance_after(tau2, past.within(), look);
        let last = self.0.last().map_or(1.0, variance);
        let mut so_far = 0.0_f64;
        self.0
            .iter()
            .map(|look| {
                so_far = so_far.max((last / variance(look)).min(1.0));
                so_far
            })
            .collect()
    }
}

/// The nominal one-sided level of each look for information `fractions` that rise to 1, so that all looks
/// together err with probability `alpha`. A look that adds no information gets 0.
#[must_use]
pub fn nominal_levels(fractions: &[f64], alpha: f64) -> Vec<f64> {
    let mut levels = Vec::with_capacity(fractions.len());
    let mut spent = 0.0;
    let mut before: Option<(f64, Grid)> = None;
    for (i, &t) in fractions.iter().enumerate() {
        let step = t - before.as_ref().map_or(0.0, |(t, _)| *t);
        let share = (alpha * t.min(1.0) - spent).max(0.0);
        // An unordered or NaN fraction fails this comparison too, and spends nothing.
        if !(step > LEAST_STEP && share > 0.0) {
            levels.push(0.0);
            continue;
        }
        let bound = bound_that_spends(before.as_ref().map(|(_, g)| g), step, share, t);
        levels.push(normal_above(bound / t.sqrt()));
        spent += share;
        if let Some(next) = fractions[i + 1..]
            .iter()
            .map(|n| n - t)
            .find(|s| *s > LEAST_STEP)
        {
            let grid = Grid::below(before.as_ref().map(|(_, g)| g), step, t, bound, next);
            before = Some((t, grid));
        }
    }
    levels
}

/// The bound on the score at fraction `t` that paths alive until now cross with probability `share`.
fn bound_that_spends(before: Option<&Grid>, step: f64, share: f64, t: f64) -> f64 {
    let sd = step.sqrt();
    let crossing = |bound: f64| match before {
        None => normal_above(bound / sd),
        Some(grid) => grid.integrate(|x| normal_above((bound - x) / sd)),
    };
    let (mut low, mut high) = (-FAR * t.sqrt(), 2.0 * FAR * t.sqrt());
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if crossing(middle) > share {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// The density of the score among paths that crossed no bound so far, on an even grid with Simpson's weights.
struct Grid {
    points: Vec<f64>,
    weighted: Vec<f64>,
}

impl Grid {
    fn below(before: Option<&Self>, step: f64, t: f64, bound: f64, next: f64) -> Self {
        let low = -FAR * t.sqrt();
        let width = (bound - low).max(0.0);
        let wanted = width * STEPS_PER_SD / next.min(step).sqrt();
        let half = (wanted.clamp(STEPS.0, STEPS.1) / 2.0).ceil() as usize;
        let h = width / (2 * half) as f64;
        let sd = step.sqrt();
        let points: Vec<f64> = (0..=2 * half).map(|i| low + h * i as f64).collect();
        let density = |x: f64| match before {
            None => normal_density(x / sd) / sd,
            Some(grid) => grid.integrate(|y| normal_density((x - y) / sd) / sd),
        };
        let weight = |i: usize| match i {
            _ if i == 0 || i == 2 * half => 1.0,
            _ if i % 2 == 1 => 4.0,
            _ => 2.0,
        };
        let weighted = points
            .iter()
            .enumerate()
            .map(|(i, &x)| density(x) * weight(i) * h / 3.0)
            .collect();
        Self { points, weighted }
    }

    fn integrate(&self, f: impl Fn(f64) -> f64) -> f64 {
        self.points
            .iter()
            .zip(&self.weighted)
            .map(|(&x, w)| w * f(x))
            .sum()
    }
}
