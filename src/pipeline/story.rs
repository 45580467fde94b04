//! What is known of one test so far, from its start to the record.

use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use super::{Context, Purpose};
use crate::baseline::{Accepted, CandidateSession};
use crate::facts::{Facts, Identity, Settings};
use crate::plan::{FixedLeg, Plan};
use crate::record::{Record, SCHEMA};
use crate::sample::{MeasureError, Session};
use crate::stats::looks::MOST_SESSIONS;
use crate::store::StoreError;
use crate::suite::Test;
use crate::verdict::{Evidence, Judgement, Look, Reason, Verdict, judge};

/// The one key of a workload that a session may name otherwise than its plan: what the file system made of it.
const CACHE_KEY: &str = "cache";

/// One test on its way.
#[derive(Debug)]
pub(crate) struct Story<'a> {
    pub(crate) test: &'a Test,
    pub(crate) purpose: Purpose<'a>,
    pub(crate) started: f64,
    pub(crate) facts: Option<Facts>,
    /// Salted hash of the path the disk is mounted at, unless that is the root.
    pub(crate) mount_point: Option<String>,
    pub(crate) sessions: Vec<Session>,
    /// Sessions that an earlier process of this run measured: not candidates again.
    pub(crate) inherited: usize,
    pub(crate) notes: Vec<String>,
    /// What the sessions so far say, while another one is asked for.
    pub(crate) so_far: Option<Box<Judgement>>,
}

/// How it ended.
#[derive(Debug)]
pub(crate) enum End {
    /// With a verdict.
    Judged(Box<Judgement>),
    /// With a verdict that a second session may change; the caller comes back for it.
    Unconfirmed(Box<Judgement>),
    /// It cannot run here.
    Skipped(String),
    /// It must not run: what was found and what to do.
    Refused(String),
    /// The measurement ended early.
    Stopped(MeasureError),
}

/// What a file that cannot be used ends a test with: one of another schema is a baseline that says nothing to this
/// version, any other is in the way until somebody looks at it.
#[cfg(target_os = "linux")]
pub(crate) fn unreadable(error: StoreError) -> End {
    let text = format!("failed to {error}");
    if error.is_other_schema() {
        End::Judged(Box::new(bare(Verdict::NotComparable, text)))
    } else {
        End::Refused(text)
    }
}

/// What is accepted for a test, and of which disk.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) accepted: Option<Accepted>,
    pub(crate) identity: Option<Identity>,
    /// Sessions that wait to be accepted for this test on this disk, oldest first.
    pub(crate) pending: Vec<CandidateSession>,
}

impl Known {
    /// The legs of the session that fixes their bytes for a run with these keys: an accepted one, else the newest that
    /// waits and may be accepted together with this run. Runs that each sized their own legs would never make one
    /// baseline.
    pub(crate) fn fixed(
        &self,
        test: &Test,
        settings: &Settings,
        open: &Plan,
    ) -> Option<Vec<FixedLeg>> {
        let same_work = |s: &&Session| {
            let keys = open.key.iter();
            s.leg_bytes.len() == open.legs.len()
                && keys
                    .filter(|(key, _)| *key != CACHE_KEY)
                    .all(|(key, value)| s.workload.get(key) == Some(value))
        };
        let accepted = self.accepted.iter().filter_map(|a| a.sessions.last());
        let waiting = self.pending.iter().rev();
        let waiting = waiting
            .filter(|c| c.barred.is_none() && c.text == test.text)
            .map(|c| &c.session)
            .filter(|s| s.settings == *settings)
            .filter(|s| s.debug_assertions == cfg!(debug_assertions));
        let session = accepted.chain(waiting).find(same_work)?;
        Some(session.fixed_legs(&open.legs))
    }
}

/// Seconds since 1970.
pub(crate) fn now() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0.0, |d| d.as_secs_f64())
}

impl<'a> Story<'a> {
    pub(crate) fn begin(test: &'a Test, purpose: Purpose<'a>) -> Self {
        Self {
            test,
            purpose,
            started: now(),
            facts: None,
            mount_point: None,
            sessions: Vec::new(),
            inherited: 0,
            notes: Vec::new(),
            so_far: None,
        }
    }

    /// The quick look without configuration.
    pub(crate) fn is_trial(&self) -> bool {
        matches!(self.purpose, Purpose::Trial(_))
    }

    /// One look at the evidence so far.
    pub(crate) fn judge(&self, context: &Context, known: &Known) -> Look {
        let (Some(facts), Some(newest)) = (&self.facts, self.sessions.last()) else {
            return Look::Done(bare(
                Verdict::Inconclusive,
                "nothing was measured".to_owned(),
            ));
        };
        judge(&Evidence {
            test: self.test,
            sessions: &self.sessions,
            disk: &facts.identity,
            settings: &newest.settings,
            workload: &newest.workload,
            baseline: known.accepted.as_ref().zip(known.identity.as_ref()),
            by_model: context.config().matching == crate::config::Match::Model,
            max_sessions: if self.is_trial() { 1 } else { MOST_SESSIONS },
        })
    }

    /// The record, with `failed` still to be decided.
    pub(crate) fn record(self, context: &Context, end: End) -> Record {
        let (judgement, refused, unconfirmed, signal) = conclude(end, self.notes, self.so_far);
        Record {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            revision: crate::store::revision(&context.places.root),
            suite: self.test.suite.clone(),
            test: self.test.name.clone(),
            text: self.test.text.clone(),
            window: [self.started, now()],
            attempt: context.attempt,
            trial: matches!(self.purpose, Purpose::Trial(_)),
            facts: self.facts,
            sessions: self.sessions,
            judgement,
            advisory: self.test.advisory,
            refused,
            unconfirmed,
            signal,
            failed: false,
        }
    }
}

/// Judgement, whether it was a refusal, whether a second session may change it, the signal that ended it.
fn conclude(
    end: End,
    notes: Vec<String>,
    so_far: Option<Box<Judgement>>,
) -> (Judgement, bool, bool, Option<i32>) {
    let (mut judgement, refused, unconfirmed, signal) = match end {
        End::Judged(judgement) => (*judgement, false, false, None),
        End::Unconfirmed(judgement) => (*judgement, false, true, None),
        End::Skipped(reason) => (bare(Verdict::Skipped, reason), false, false, None),
        End::Refused(reason) => (bare(Verdict::Skipped, reason), true, false, None),
        End::Stopped(error) => match (error, so_far) {
            (error @ MeasureError::Disturbed(_), Some(so_far)) => {
                (unconfirmed(*so_far, &error), false, false, None)
            }
            (error, _) => stopped(error),
        },
    };
    judgement.notes.extend(notes);
    (judgement, refused, unconfirmed, signal)
}

/// A disturbed second session takes nothing back of what the first one showed.
fn unconfirmed(so_far: Judgement, error: &MeasureError) -> Judgement {
    let mut judgement = Judgement {
        verdict: Verdict::Inconclusive,
        reason: so_far.reason.or(Some(Reason::Disturbed)),
        ..so_far
    };
    judgement
        .notes
        .push(format!("the second session is missing: {error}"));
    judgement
}

/// What an early end means. An error is never a pass and never 0 MB/s.
fn stopped(error: MeasureError) -> (Judgement, bool, bool, Option<i32>) {
    let mut text = error.to_string();
    if let Some(cure) = cure(&error) {
        text = format!("{text}; {cure}");
    }
    match error {
        MeasureError::Interrupted(signal) => {
            (bare(Verdict::Interrupted, text), false, false, Some(signal))
        }
        MeasureError::Disturbed(_) => {
            let judgement = Judgement {
                reason: Some(Reason::Disturbed),
                ..bare(Verdict::Inconclusive, text)
            };
            (judgement, false, false, None)
        }
        MeasureError::NotTheDisk(_) | MeasureError::Io { .. } | MeasureError::Short { .. } => {
            (bare(Verdict::Invalid, text), false, false, None)
        }
        MeasureError::Setup { .. } => (bare(Verdict::Skipped, text), true, false, None),
        MeasureError::Unavailable(_) => (bare(Verdict::Skipped, text), false, false, None),
    }
}

/// What to do about an error of the kernel, whose own words only name it.
fn cure(error: &MeasureError) -> Option<&'static str> {
    let (MeasureError::Io { source, .. } | MeasureError::Setup { source, .. }) = error else {
        return None;
    };
    // Numbers that every Unix shares; `ErrorKind` has no word for them.
    const EIO: i32 = 5;
    const ENXIO: i32 = 6;
    const ENODEV: i32 = 19;
    const ENFILE: i32 = 23;
    const EMFILE: i32 = 24;
    let kind = source.kind();
    Some(match source.raw_os_error()? {
        EIO | ENXIO | ENODEV => {
            "the disk, or what lies below it, failed or is gone: look into the kernel's log (`dmesg`) before trusting it"
        }
        _ if kind == io::ErrorKind::StorageFull || kind == io::ErrorKind::QuotaExceeded => {
            "it filled up meanwhile: free space, lower `size`, or keep others off it"
        }
        _ if kind == io::ErrorKind::FileTooLarge => {
            "raise the limit on file size (`ulimit -f`), or lower `size`"
        }
        ENFILE | EMFILE => "raise the limit on open files (`ulimit -n`)",
        _ if kind == io::ErrorKind::ReadOnlyFilesystem => {
            "the file system turned read-only, as it does after errors: look into the kernel's log (`dmesg`)"
        }
        _ if kind == io::ErrorKind::WouldBlock => {
            "raise the limit on processes (`ulimit -u`), or lower `workers`"
        }
        _ => return None,
    })
}

/// A judgement without metrics.
pub(crate) fn bare(verdict: Verdict, detail: String) -> Judgement {
    Judgement {
        verdict,
        reason: None,
        metric: None,
        detail,
        metrics: Vec::new(),
        moved: None,
        suspects: Vec::new(),
        notes: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baseline::fixture;
    use crate::suite::Rw;
    use crate::units::Bytes;

    fn waiting(id: &str, bytes: u64, text: &str) -> CandidateSession {
        let mut session = fixture::session(id, 1, &[]);
        session.leg_bytes = vec![Bytes(bytes), Bytes(bytes)];
        session.debug_assertions = cfg!(debug_assertions);
        CandidateSession {
            text: text.to_owned(),
            barred: None,
            session,
        }
    }

    /// A plan with the workload of the fixture's sessions.
    fn open() -> Plan {
        let mut plan = crate::engine::testing::plan(&[Rw::Read, Rw::Write]);
        plan.key = fixture::session("1", 1, &[]).workload;
        plan
    }

    fn chosen(known: &Known, change: impl Fn(&mut Settings, &mut Plan)) -> Option<u64> {
        let test = fixture::test();
        let (mut settings, mut plan) = (fixture::session("1", 1, &[]).settings, open());
        change(&mut settings, &mut plan);
        let fixed = known.fixed(&test, &settings, &plan)?;
        assert_eq!(fixed.len(), 2);
        Some(fixed[0].bytes.0)
    }

    #[test]
    fn runs_without_a_baseline_take_the_legs_of_the_newest_session_they_can_be_accepted_with() {
        let text = fixture::test().text;
        let mut known = Known {
            accepted: None,
            identity: None,
            pending: vec![],
        };
        assert_eq!(
            chosen(&known, |_, _| ()),
            None,
            "the first run sizes its own"
        );
        let mut barred = waiting("3", 30, &text);
        barred.barred = Some("attempt 2".into());
        known.pending = vec![
            waiting("1", 10, &text),
            waiting("2", 20, &text),
            barred,
            waiting("4", 40, "another text"),
        ];
        assert_eq!(chosen(&known, |_, _| ()), Some(20));
        let settings = |settings: &mut Settings, _: &mut Plan| {
            settings.insert("scheduler".into(), "bfq".into());
        };
        assert_eq!(
            chosen(&known, settings),
            None,
            "they would not be accepted together"
        );
        let workload = |_: &mut Settings, plan: &mut Plan| {
            plan.key.insert("block".into(), "7 B".into());
        };
        assert_eq!(chosen(&known, workload), None);
        let buffered = |_: &mut Settings, plan: &mut Plan| {
            plan.key
                .insert("cache".into(), "direct, as the plan calls it".into());
        };
        assert_eq!(
            chosen(&known, buffered),
            Some(20),
            "what the file system made of it"
        );
        known.pending[1].session.debug_assertions = !cfg!(debug_assertions);
        assert_eq!(chosen(&known, |_, _| ()), Some(10));
    }

    #[test]
    fn an_accepted_session_fixes_the_legs_unless_it_is_of_another_workload() {
        let mut session = waiting("1", 50, "").session;
        let text = fixture::test().text;
        let known = |session: &Session| Known {
            accepted: Some(fixture::accepted(vec![session.clone()])),
            identity: None,
            pending: vec![waiting("2", 20, &text)],
        };
        session.settings.clear();
        assert_eq!(
            chosen(&known(&session), |_, _| ()),
            Some(50),
            "settings are suspects"
        );
        session.workload.insert("block".into(), "7 B".into());
        assert_eq!(chosen(&known(&session), |_, _| ()), Some(20));
    }

    #[test]
    fn fixed_legs_are_those_of_the_session_with_their_median_time() {
        let rates = [(1.0, 1.0), (4.0, 2.0), (5.0, 2.5)];
        let mut session = fixture::session("1", 1, &rates);
        session.leg_bytes = vec![Bytes(5), Bytes(6)];
        session.rounds[0].fate = crate::sample::Fate::WarmUp;
        let took = |rws: &[Rw]| {
            let legs = session.fixed_legs(&crate::engine::testing::plan(rws).legs);
            let of = |l: FixedLeg| (l.bytes.0, l.took.map(|t| t.0 / 1_000_000));
            legs.into_iter().map(of).collect::<Vec<_>>()
        };
        // Legs of 100 MB at 400 and at 200 MB/s; drain included.
        let pair = took(&[Rw::Read, Rw::Write]);
        assert_eq!(pair, [(5, Some(250)), (6, Some(500))]);
        assert_eq!(took(&[Rw::Read, Rw::RandRead]), [(5, None), (6, None)]);
    }

    #[test]
    fn an_error_of_the_disk_comes_with_what_to_do() {
        for (number, word) in [
            (5, "dmesg"),
            (28, "lower `size`"),
            (27, "ulimit -f"),
            (24, "ulimit -n"),
        ] {
            let error = MeasureError::Io {
                op: "write",
                offset: 0,
                len: 1,
                source: io::Error::from_raw_os_error(number),
            };
            let (judgement, refused, ..) = stopped(error);
            assert!(judgement.detail.contains(word), "{}", judgement.detail);
            assert!(!refused && judgement.verdict == Verdict::Invalid);
        }
    }
}
