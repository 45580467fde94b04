//! Lists multiply into tests: one test for each combination, named after its values.

use std::collections::BTreeSet;

use super::document::WrittenTest;
use super::keys::Written;
use super::rules::Picks;
use super::written::{Fault, Faults, quote};

/// Most tests that lists of one suite may make. A slip of a zero would otherwise run for days.
const MOST: usize = 200;

/// Longest name of a test: what is made of it must fit into one file name of 255 bytes.
const LONGEST_NAME: usize = 180;

/// A test with one value for every key.
#[derive(Debug)]
pub(super) struct Draft<'w> {
    pub(super) name: String,
    pub(super) test: &'w WrittenTest,
    pub(super) picks: Picks<'w>,
}

/// Every combination of every test, in the order written; `None` when the lists would make too many.
pub(super) fn drafts<'w>(tests: &'w [WrittenTest], faults: &mut Faults) -> Option<Vec<Draft<'w>>> {
    check_number(tests, faults)?;
    let drafts: Vec<_> = tests.iter().flat_map(combinations).collect();
    let mut names = BTreeSet::new();
    for draft in &drafts {
        let at = draft.picks.last_list().unwrap_or(draft.test.name_at);
        if draft.name.len() > LONGEST_NAME {
            let found = format!("a name of {} letters", draft.name.len());
            let allowed = format!("at most {LONGEST_NAME} with the values of its lists");
            faults.push(Fault::new(at, "test.name", found, allowed));
        }
        if !names.insert(draft.name.as_str()) {
            let found = format!("a second test named {}", quote(&draft.name));
            faults.push(Fault::new(
                at,
                "test.name",
                found,
                "a name of its own for every test",
            ));
        }
    }
    Some(drafts)
}

/// Lists in the order written, `[defaults]` included.
fn lists(test: &WrittenTest) -> Vec<&Written> {
    let mut lists: Vec<_> = test.keys.iter().filter(|key| key.list).collect();
    lists.sort_by_key(|key| key.at);
    lists
}

/// Counted before anything is built: a few short lists multiply to more than memory holds.
fn check_number(tests: &[WrittenTest], faults: &mut Faults) -> Option<()> {
    let mut total = 0_usize;
    for test in tests {
        let lists = lists(test);
        let Some(first) = lists.first() else { continue };
        let product = lists.iter().map(|list| list.choices.len());
        total = total.saturating_add(product.fold(1, usize::saturating_mul));
        if total > MOST {
            let found = format!("lists that make {total} tests up to here");
            let allowed = format!("at most {MOST} tests from the lists of one suite");
            let key = format!("test.{}", first.row.name);
            faults.push(
                Fault::new(first.at, key, found, allowed)
                    .hint("shorten the lists or split the suite"),
            );
            return None;
        }
    }
    Some(())
}

fn combinations(test: &WrittenTest) -> Vec<Draft<'_>> {
    let scalars = test.keys.iter().filter(|key| !key.list);
    let scalars = scalars.filter_map(|key| Some((key, key.choices.first()?)));
    let mut drafts = vec![Draft {
        name: test.name.clone(),
        test,
        picks: Picks::new(test, scalars.collect()),
    }];
    if test.keys.iter().any(|key| key.spoilt) {
        return Vec::new();
    }
    for list in lists(test) {
        let multiplied = drafts.iter().flat_map(|draft| {
            list.choices.iter().map(|choice| Draft {
                name: format!("{}::{}-{}", draft.name, list.row.name, choice.label),
                test,
                picks: draft.picks.with(list, choice),
            })
        });
        drafts = multiplied.collect();
    }
    drafts
}
