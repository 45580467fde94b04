//! The suites that come with the tool, for use where no `suites` folder is.

/// Name and text of each; `reference` is left out, since its disk exists only where `ci/` made it.
const SUITES: [(&str, &str); 3] = [
    ("random", include_str!("../../suites/random.toml")),
    ("sequential", include_str!("../../suites/sequential.toml")),
    ("smoke", include_str!("../../suites/smoke.toml")),
];

/// The suites that come with the tool, by name; parse them as any other file.
#[must_use]
pub fn embedded() -> &'static [(&'static str, &'static str)] {
    &SUITES
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::{Legs, Suite, parse};

    fn shipped() -> Vec<Suite> {
        let reference = ("reference", include_str!("../../suites/reference.toml"));
        let all = embedded().iter().copied().chain([reference]);
        let read = all.map(|(name, text)| {
            assert!(
                text.starts_with("# Why: "),
                "{name} does not say why it exists"
            );
            parse(name, name, text).unwrap_or_else(|errors| panic!("{}", errors[0]))
        });
        read.collect()
    }

    #[test]
    fn every_shipped_suite_is_read_and_measured_by_this_version() {
        for suite in shipped() {
            assert!(suite.about.is_some(), "{}", suite.name);
            for test in &suite.tests {
                assert_eq!(test.workload.not_yet(), None, "{}", test.full_name());
            }
        }
    }

    #[test]
    fn the_names_that_people_and_pipelines_depend_on_are_there() {
        let names: Vec<_> = shipped()
            .iter()
            .flat_map(|suite| {
                suite
                    .tests
                    .iter()
                    .map(|test| test.full_name())
                    .collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(
            names,
            [
                "random::read::depth-1",
                "random::read::depth-32",
                "random::write::depth-1",
                "random::write::depth-32",
                "sequential::direct",
                "sequential::direct::depth-8",
                "sequential::buffered",
                "smoke::sequential",
                "smoke::random",
                "reference::direct",
                "reference::buffered",
            ]
        );
    }

    #[test]
    fn the_trial_is_a_pair_at_depth_one_with_a_size_the_plan_may_choose() {
        let suites = shipped();
        let sequential = suites
            .iter()
            .find(|suite| suite.name == "sequential")
            .expect("shipped");
        let direct = &sequential.tests[0].workload;
        assert!(matches!(direct.legs, Legs::Pair(..)));
        assert_eq!((direct.depth, direct.size), (1, None));
        assert_eq!(sequential.gated_metrics, 9);
    }
}
