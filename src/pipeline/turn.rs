//! The edges of one test in order: look at the target, plan, wait for the disk, measure.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::story::{End, Known, Story, now, unreadable};
use super::{Context, Purpose};
use crate::config::Match;
use crate::device::{self, DiskLock, KernelWitness, LookOptions, Looked, Roots};
use crate::engine::{self, Terms};
use crate::facts::TargetKind;
use crate::plan::{Ask, Plan, Planned};
use crate::report::Style;
use crate::sample::Session;
use crate::store::{self, Wanted, Who};
use crate::units::Bytes;

/// How often a waiter looks whether the disk is free.
const POLL: Duration = Duration::from_millis(200);

/// The disk is ours.
#[derive(Debug)]
pub(super) struct Turn {
    _lock: DiskLock,
    witness: KernelWitness,
    target: PathBuf,
    place: device::Place,
}

/// Looks at the target and says who it is under the salt its baseline has.
pub(super) fn look(context: &Context, story: &mut Story<'_>) -> Result<Looked, End> {
    let config = context.config();
    let trial = story.is_trial();
    let target: PathBuf = match story.purpose {
        Purpose::Trial(dir) => dir.to_owned(),
        Purpose::Gate => context
            .disk()
            .ok_or_else(|| End::Refused("no disk is configured".to_owned()))?
            .to_owned(),
    };
    let options = LookOptions {
        allow_memory: config.allow_memory,
        allow_overlay: config.allow_overlay || trial,
        expect_mount_point: store::was_mount_point(&context.places, &target).map_err(unreadable)?,
        salt: String::new(),
        name: config.disk_name.clone(),
    };
    let mut looked =
        device::look(&Roots::real(), &target, &options).map_err(|r| End::Refused(r.to_string()))?;
    let identity = &mut looked.facts.identity;
    let hash = |salt: &str| looked.raw.hash(salt);
    let wanted = Wanted {
        name: &identity.name.clone(),
        model: &identity.model.clone(),
        by_model: config.matching == Match::Model,
        who: Who::Attached(&hash),
    };
    identity.salt = store::salt(&context.places, &wanted).map_err(unreadable)?;
    identity.hash = looked.raw.hash(&identity.salt);
    let mount = looked.facts.filesystem.as_ref().map(|fs| &fs.mount_point);
    story.mount_point = mount
        .filter(|point| point.parent().is_some())
        .map(|point| store::path_hash(&identity.salt, point));
    story.facts = Some(looked.facts.clone());
    Ok(looked)
}

/// Whether an identity is that of the disk a directory lies on, whatever it was salted with.
#[cfg(feature = "cli")]
pub(super) fn is_disk_of(context: &Context, dir: &Path) -> Result<super::IsDisk, String> {
    let options = LookOptions {
        allow_memory: context.config().allow_memory,
        allow_overlay: context.config().allow_overlay,
        ..LookOptions::default()
    };
    let looked = device::look(&Roots::real(), dir, &options).map_err(|r| r.to_string())?;
    Ok(Box::new(move |disk| {
        looked.raw.hash(&disk.salt) == disk.hash
    }))
}

/// Decides what will be done, and says so before it is.
pub(super) fn plan(
    context: &Context,
    story: &Story<'_>,
    looked: &Looked,
    known: &Known,
) -> Result<Plan, End> {
    let mut ask = Ask {
        trial: story.is_trial(),
        fixed: None,
        seed: fastrand::u64(..),
        max_write: context.config().max_write,
        existing: existing(story, looked)?,
    };
    consent(context, looked)?;
    let decide = |ask: &Ask| match crate::plan::plan(story.test, &looked.facts, ask) {
        Planned::Run(plan) => Ok(*plan),
        Planned::Skip(reason) => Err(End::Skipped(reason)),
        Planned::Refuse(reason)
            if looked.facts.kind == TargetKind::BlockDevice
                && context.config().destroy.is_some() =>
        {
            Err(End::Refused(format!(
                "{reason}. --destroy changes nothing about it: this version writes to no raw device"
            )))
        }
        Planned::Refuse(reason) => Err(End::Refused(reason)),
    };
    let open = decide(&ask)?;
    ask.fixed = known.fixed(story.test, &looked.facts.settings, &open);
    if ask.fixed.is_some() {
        decide(&ask)
    } else {
        Ok(open)
    }
}

/// `--destroy` is taken at its word only for the very device that is measured, and only when nothing lives on it.
fn consent(context: &Context, looked: &Looked) -> Result<(), End> {
    let Some(named) = &context.config().destroy else {
        return Ok(());
    };
    if looked.facts.kind != TargetKind::BlockDevice {
        return Ok(());
    }
    device::may_destroy(&Roots::real(), &looked.facts.target, named)
        .map_err(|r| End::Refused(r.to_string()))
}

/// Size of the file a read-only test names, or of the raw device.
fn existing(story: &Story<'_>, looked: &Looked) -> Result<Option<Bytes>, End> {
    if looked.facts.kind == TargetKind::BlockDevice {
        if looked.total.0 == 0 {
            return Err(End::Refused(format!(
                "{} is an empty block device of 0 B; attach a file, insert a medium, or name another",
                looked.facts.target.display()
            )));
        }
        return Ok(Some(looked.total));
    }
    let Some(file) = &story.test.workload.file else {
        return Ok(None);
    };
    let disk = &looked.facts.target;
    let path = disk.join(file);
    let refuse = |why: String| {
        End::Refused(format!(
            "file = \"{}\": {} {why}",
            file.display(),
            path.display()
        ))
    };
    let failed = |e| {
        refuse(format!(
            "cannot be read: {e}. Name an existing file; a relative name starts at the disk"
        ))
    };
    let meta = std::fs::metadata(&path).map_err(failed)?;
    if !meta.is_file() {
        return Err(refuse(
            "is not a regular file; to read a whole device, name it as --disk".to_owned(),
        ));
    }
    if !device::on_one_disk(disk, &path).map_err(failed)? {
        return Err(refuse(format!(
            "lies on another file system than {}, whose counters are watched; name the disk the file is on",
            disk.display()
        )));
    }
    Ok(Some(Bytes(meta.len())))
}

/// Says what will be done and how long it will take, before it is.
fn announce(context: &Context, plan: &Plan) {
    let style = Style {
        color: false,
        width: 100,
    };
    if context.confirm == super::Confirm::Inside {
        // Under a runner the test's name stands in the line, waiting for its result.
        super::say(format_args!(""));
    }
    // Where stderr is closed nobody wants to know.
    let _ = crate::report::plan_lines(&mut std::io::stderr().lock(), &[plan], style);
}

/// Waits until the disk is ours, and checks what may have changed meanwhile.
pub(super) fn take(context: &Context, looked: &Looked, plan: &Plan) -> Result<Turn, End> {
    announce(context, plan);
    let lock = wait_for_disk(context, looked)?;
    still_there(&looked.facts.target, looked.place)?;
    if plan.needs.0 > 0 {
        let path = &looked.facts.target;
        let (free, total) = device::space(path).map_err(|e| {
            End::Refused(format!(
                "failed to ask for the space of {}: {e}",
                path.display()
            ))
        })?;
        device::check_space(path, plan.needs, (free, total))
            .map_err(|r| End::Refused(r.to_string()))?;
    }
    let witness = device::witness(&Roots::real(), &looked.facts);
    Ok(Turn {
        _lock: lock,
        witness,
        target: looked.facts.target.clone(),
        place: looked.place,
    })
}

/// A disk may be unmounted while this waits: its folder then lies on another one, which nobody asked to fill.
fn still_there(target: &Path, place: device::Place) -> Result<(), End> {
    device::still_there(target, place).map_err(|r| End::Refused(r.to_string()))
}

fn wait_for_disk(context: &Context, looked: &Looked) -> Result<DiskLock, End> {
    let mut told = None;
    loop {
        context.interrupt.check().map_err(End::Stopped)?;
        match device::try_lock(&Roots::real(), looked) {
            Ok(lock) => return Ok(lock),
            Err(device::LockError::Busy(busy)) => {
                let text = busy.to_string();
                if told.as_ref() != Some(&text) {
                    super::say(format_args!("iogate: {text}"));
                    told = Some(text);
                }
                std::thread::sleep(POLL);
            }
            Err(error) => return Err(End::Refused(error.to_string())),
        }
    }
}

impl Turn {
    /// One session on a fresh scratch.
    pub(super) fn measure(
        &self,
        context: &Context,
        story: &Story<'_>,
        plan: &Plan,
    ) -> Result<Session, End> {
        still_there(&self.target, self.place)?;
        let first = story.sessions.first();
        let mut terms = Terms::first(plan);
        if first.is_some() {
            terms.seed =
                fastrand::Rng::with_seed(plan.seed.wrapping_add(story.sessions.len() as u64))
                    .u64(..);
            terms.fixed = first.map(|s| s.fixed_legs(&plan.legs));
        }
        let mut disk = engine::open(plan, terms.seed).map_err(End::Stopped)?;
        let session = engine::session(
            plan,
            disk.as_mut(),
            &self.witness,
            &context.interrupt,
            &terms,
        );
        let mut session = session.map_err(End::Stopped)?;
        if let Some(facts) = &story.facts {
            session.boot_id.clone_from(&facts.host.boot_id);
            session.settings.clone_from(&facts.settings);
        }
        session.revision = store::revision(&context.places.root);
        Ok(session)
    }

    /// Sessions of one test lie at least `gap` apart, or they share the state of the moment.
    pub(super) fn wait_for_gap(&self, context: &Context, story: &Story<'_>) -> Result<(), End> {
        let ended = story
            .sessions
            .last()
            .map_or(0.0, |s| s.started as f64 + s.seconds);
        let until = ended + context.config().gap.as_secs_f64();
        let name = story.test.full_name();
        super::say(format_args!(
            "iogate: {name}: a second session decides, in {:.0} s",
            (until - now()).max(0.0)
        ));
        while now() < until {
            context.interrupt.check().map_err(End::Stopped)?;
            std::thread::sleep(POLL.min(Duration::from_secs_f64((until - now()).max(0.001))));
        }
        Ok(())
    }
}
