//! The quick look compared with the last one on the same disk: described, never judged.

use crate::plan::WorkloadKey;
use crate::sample::Session;
use crate::stats::yields::{estimate_of, stats_of};
use crate::stats::{Estimate, Past, metrics};
use crate::suite::Metric;

/// One metric of two trials.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialChange {
    /// The metric.
    pub metric: Metric,
    /// What it was last time.
    pub before: Estimate,
    /// What it is now.
    pub now: Estimate,
    /// (now − before) / before with its 95 % limits; the spread between sessions is the prior's, since two sessions
    /// cannot tell it.
    pub change: Estimate,
}

/// Every metric that both trials yield, unless they did different work: then none. How long a leg is does not count:
/// each trial finds it anew.
#[must_use]
pub fn compare_trials(before: &Session, now: &Session) -> Vec<TrialChange> {
    let work = |s: &Session| -> WorkloadKey {
        let keys = s
            .workload
            .iter()
            .filter(|(name, _)| !name.starts_with("leg"));
        keys.map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    };
    if work(before) != work(now) {
        return Vec::new();
    }
    let (before, now) = ([metrics(before)], [metrics(now)]);
    let compare = |metric: &Metric| {
        let past = Past::new(&stats_of(&before, metric)?)?;
        let change = past.change(&stats_of(&now, metric)?)?;
        Some(TrialChange {
            metric: metric.clone(),
            before: estimate_of(&before, metric)?,
            now: estimate_of(&now, metric)?,
            change: change.as_share(metric.kind.higher_is_better()),
        })
    };
    before[0].keys().filter_map(compare).collect()
}
