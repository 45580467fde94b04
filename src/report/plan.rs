//! What is about to happen, told before it does.

use std::io::{self, Write};

use super::columns::{Cell, Columns};
use super::numbers::span;
use super::style::{Style, Tone, escape};
use crate::plan::Plan;
use crate::suite::Direction;
use crate::units::{Bytes, Nanos};

/// Legs' worth of bytes that finding the length of a leg takes.
const SIZING_LEGS: u64 = 2;

/// One line a test: its legs, the time of a session, the bytes it may write; a sum when there are several.
///
/// # Errors
/// The writer's.
pub fn plan_lines(out: &mut dyn Write, plans: &[&Plan], style: Style) -> io::Result<()> {
    let mut columns = Columns::default();
    for plan in plans {
        columns.row(vec![
            Cell::left(escape(&plan.test)).tone(Tone::Strong),
            Cell::left(legs(plan)),
            Cell::left(time(plan)),
            Cell::left(writes(plan)),
        ]);
    }
    if plans.len() > 1 {
        let time = Nanos(
            plans
                .iter()
                .filter_map(|p| p.expected)
                .fold(0, |sum, time| sum.saturating_add(time.0)),
        );
        let known = plans.iter().all(|p| p.expected.is_some());
        let bytes = Bytes(
            plans
                .iter()
                .fold(0, |sum, p| sum.saturating_add(p.writes.0)),
        );
        columns.line(format!(
            "{} tests, {} {} in all, {}; what looks worse is measured again",
            plans.len(),
            if known { "about" } else { "more than" },
            span(time),
            at_most(bytes)
        ));
    }
    columns.draw(out, style)
}

/// `read and write, 128 KiB, depth 8, 2 workers`.
fn legs(plan: &Plan) -> String {
    let words: Vec<_> = plan.legs.iter().map(|leg| leg.rw.word()).collect();
    let mut text = words.join(" and ");
    text.push_str(&format!(", {}", plan.block));
    if plan.depth > 1 {
        text.push_str(&format!(", depth {}", plan.depth));
    }
    if plan.workers > 1 {
        text.push_str(&format!(", {} workers", plan.workers));
    }
    text
}

/// The time of a session; where nothing tells it, what is known of it: the bytes of its legs.
fn time(plan: &Plan) -> String {
    if let Some(time) = plan.expected {
        return format!("about {}", span(time));
    }
    let mut bytes: Vec<String> = plan
        .legs
        .iter()
        .filter_map(|l| l.bytes)
        .map(|b| b.to_string())
        .collect();
    bytes.dedup();
    format!("legs of {}", bytes.join(" and "))
}

/// What a session writes: legs of open length by their time, with what they may take at most.
fn writes(plan: &Plan) -> String {
    let open = plan.legs.iter().filter(|l| l.direction == Direction::Write);
    let open = open.filter(|l| l.bytes.is_none()).map(|l| l.aim.0);
    let rounds = u64::from(plan.warm_up + plan.keep) + SIZING_LEGS;
    let time = open.sum::<u64>().saturating_mul(rounds);
    if time == 0 || plan.writes.0 == 0 {
        return at_most(plan.writes);
    }
    format!(
        "writes about {} of data, at most {}",
        span(Nanos(time)),
        plan.writes
    )
}

fn at_most(bytes: Bytes) -> String {
    match bytes.0 {
        0 => "writes nothing".to_owned(),
        _ => format!("writes at most {bytes}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing::{drawn, plain, plan};

    #[test]
    fn a_single_test_is_told_in_one_line() {
        let text = drawn(|out| plan_lines(out, &[&plan("sequential::direct", 1)], plain(80)));
        insta::assert_snapshot!(text, @r#"sequential::direct  read and write, 128 KiB  about 46 s  writes about 24 s of data, at most 6 GiB"#);
    }

    #[test]
    fn several_tests_are_summed_without_overflow() {
        let (a, mut b) = (plan("sequential::direct", 1), plan("random::deep", 8));
        b.writes = Bytes(u64::MAX);
        let text = drawn(|out| plan_lines(out, &[&a, &b], plain(80)));
        insta::assert_snapshot!(text, @r#"
        sequential::direct  read and write, 128 KiB           about 46 s  writes about 24 s of data, at most 6 GiB
        random::deep        read and write, 128 KiB, depth 8  about 46 s  writes about 24 s of data, at most 16777216.0 TiB
        2 tests, about 92 s in all, writes at most 16777216.0 TiB; what looks worse is measured again
        "#);
    }

    #[test]
    fn legs_of_given_bytes_tell_those_instead_of_a_time_nobody_knows() {
        let mut given = plan("small::direct", 1);
        for (leg, mib) in given.legs.iter_mut().zip([4, 8]) {
            leg.bytes = Some(Bytes(mib << 20));
        }
        given.expected = None;
        let text = drawn(|out| plan_lines(out, &[&given], plain(80)));
        assert!(
            text.contains("legs of 4 MiB and 8 MiB  writes at most 6 GiB"),
            "{text}"
        );
        let open = plan("sequential::direct", 1);
        let text = drawn(|out| plan_lines(out, &[&given, &open], plain(80)));
        assert!(text.contains("2 tests, more than 46 s in all"), "{text}");
    }
}
