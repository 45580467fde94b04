//! Against numbers computed independently with numpy and scipy, and what must hold for any data.

use proptest::prelude::*;

use super::looks::nominal_levels;
use super::robust::{session_stat, vif, within_run};
use super::*;

mod yielding;

// ln(read rate / write rate) of twenty rounds each of five recorded sessions on one virtual disk.
const A: [f64; 20] = [
    0.922697, 0.943128, 0.863014, 0.910787, 0.841810, 1.068738, 0.989282, 0.850884, 0.756287,
    0.793951, 0.703378, 0.986017, 0.693757, 0.708195, 1.135158, 0.869016, 0.926492, 0.849660,
    1.078932, 1.026470,
];
const B: [f64; 20] = [
    0.511583, 0.541067, 0.477835, 0.429908, 0.425093, 0.449997, 0.487602, 0.507767, 0.637442,
    0.573972, 0.466663, 0.577675, 0.628899, 0.730294, 0.507262, 0.509717, 0.558435, 0.522984,
    0.425129, 0.475949,
];
const C: [f64; 20] = [
    0.562405, 0.460962, 0.405615, 0.459917, 0.358209, 0.432788, 0.342395, 0.708238, 0.339546,
    0.480024, 0.456182, 0.417922, 0.418522, 0.450018, 0.355581, 0.728958, 0.355471, 0.555636,
    0.378992, 0.389581,
];
const D: [f64; 20] = [
    0.598448, 0.778641, 0.792313, 0.430790, 0.001882, 0.580542, 0.798708, 0.476334, 0.454095,
    0.674933, 0.727512, 0.844885, 0.602625, 0.968440, 0.766625, 0.909265, 0.962127, 0.763191,
    1.047869, 0.891953,
];
const E: [f64; 20] = [
    0.659521, 0.504688, 0.474805, 0.578553, 0.462527, 0.315918, 0.518613, 0.412716, 0.447605,
    0.698695, 0.555746, 0.588030, 0.630958, 0.524598, 0.575547, 0.504592, 0.513398, 0.068543,
    0.087061, 0.041291,
];

/// Baseline sessions, candidate sessions; then tau², delta, variance and degrees of freedom.
type Compared = (
    &'static [&'static [f64]],
    &'static [&'static [f64]],
    [f64; 4],
);

const CHANGES: [Compared; 6] = [
    (
        &[&A, &B, &C],
        &[&D],
        [
            0.062_095_927_014_2,
            0.124_022_833_333,
            0.084_668_586_402_5,
            2.091_483_436_29,
        ],
    ),
    (
        &[&A, &B, &C],
        &[&D, &E],
        [
            0.049_970_597_407_7,
            0.009_565,
            0.042_431_761_511_8,
            3.114_774_448_2,
        ],
    ),
    (
        &[&B],
        &[&D],
        [
            0.001_297_833_370_15,
            0.223_295,
            0.008_322_010_745_52,
            15.110_727_321,
        ],
    ),
    (
        &[&B],
        &[&D, &E],
        [
            0.025_421_960_441_5,
            0.108_837_166_667,
            0.040_743_125_330_6,
            1.141_468_290_5,
        ],
    ),
    (
        &[&B, &C],
        &[&D],
        [
            0.003_403_098_276_63,
            0.266_299_333_333,
            0.006_911_075_985_55,
            1.824_526_445_39,
        ],
    ),
    (
        &[&A, &B, &C, &E],
        &[&D, &E],
        [
            0.039_256_231_683_1,
            0.035_788_208_333_3,
            0.030_397_746_189_5,
            4.263_470_263_58,
        ],
    ),
];

/// Mean session-to-round variance, then fractions, levels for 0.025 and levels for 0.05 at each of ten looks.
const TABLE: [(f64, [[f64; 10]; 3]); 4] = [
    (
        0.0,
        [
            [
                0.133, 0.175, 0.236, 0.314, 0.407, 0.546, 0.643, 0.733, 0.873, 1.0,
            ],
            [
                0.00331, 0.00215, 0.00268, 0.00346, 0.00438, 0.00617, 0.00642, 0.00699, 0.00889,
                0.00987,
            ],
            [
                0.00663, 0.00456, 0.00571, 0.00741, 0.00944, 0.01332, 0.01412, 0.01554, 0.01972,
                0.02212,
            ],
        ],
    ),
    (
        0.03,
        [
            [
                0.177, 0.222, 0.280, 0.344, 0.407, 0.584, 0.670, 0.733, 0.903, 1.0,
            ],
            [
                0.00444, 0.00274, 0.00307, 0.00352, 0.00395, 0.00707, 0.00664, 0.00663, 0.00965,
                0.00954,
            ],
            [
                0.00887, 0.00585, 0.00659, 0.00763, 0.00862, 0.01517, 0.01466, 0.01485, 0.02133,
                0.02149,
            ],
        ],
    ),
    (
        0.3,
        [
            [
                0.314, 0.342, 0.369, 0.391, 0.407, 0.681, 0.716, 0.733, 0.969, 1.0,
            ],
            [
                0.00786, 0.00449, 0.00398, 0.00374, 0.00357, 0.00971, 0.00725, 0.00652, 0.01168,
                0.00942,
            ],
            [
                0.01571, 0.00962, 0.00869, 0.00825, 0.00795, 0.02062, 0.01608, 0.01470, 0.02558,
                0.02133,
            ],
        ],
    ),
    (
        1.0,
        [
            [
                0.371, 0.383, 0.394, 0.402, 0.407, 0.714, 0.727, 0.733, 0.989, 1.0,
            ],
            [
                0.00927, 0.00566, 0.00484, 0.00440, 0.00413, 0.01081, 0.00799, 0.00724, 0.01249,
                0.01001,
            ],
            [
                0.01854, 0.01200, 0.01045, 0.00963, 0.00910, 0.02288, 0.01760, 0.01615, 0.02726,
                0.02253,
            ],
        ],
    ),
];

fn stats(series: &[&[f64]]) -> Vec<SessionStat> {
    series
        .iter()
        .map(|y| session_stat(y).expect("finite"))
        .collect()
}

fn close(got: f64, want: f64) {
    assert!(
        (got - want).abs() <= 1e-9 * want.abs().max(1e-3),
        "got {got}, want {want}"
    );
}

#[test]
fn sessions_agree_with_the_reference() {
    let want = [
        (&A, 0.895_561_5, 0.017_049_297_910, 0.117_226_281_895),
        (&B, 0.511_736_333_333, 0.005_191_333_481, 0.500_255_468_081),
        (&C, 0.425_727_666_667, 0.006_634_550_290, -0.657_173_267_998),
        (&D, 0.735_031_333_333, 0.044_649_640_926, 0.394_900_425_494),
        (&E, 0.506_115_666_667, 0.012_228_752_843, 0.494_492_457_889),
    ];
    for (series, mean, var, rho) in want {
        let s = session_stat(series).expect("finite");
        assert!(
            (s.mean - mean).abs() < 1e-10 && (s.var - var).abs() < 1e-10,
            "{s:?}"
        );
        assert!((s.rho - rho).abs() < 1e-10 && s.n == 20, "{s:?}");
    }
}

#[test]
fn changes_agree_with_the_reference() {
    for (past, new, [tau2, delta, var, df]) in CHANGES {
        let change = Past::new(&stats(past))
            .and_then(|p| p.change(&stats(new)))
            .expect("sessions");
        close(change.tau2, tau2);
        close(change.delta, delta);
        close(change.var, var);
        close(change.df, df);
    }
    close(vif(&stats(&[&B])), 3.002_044_789_4);
}

#[test]
fn the_tolerance_agrees_with_the_reference_and_has_a_floor() {
    let past = Past::new(&stats(&[&A, &B, &C])).expect("sessions");
    for (sessions, theta) in [
        (1, 1.388_114_569_327_85),
        (2, 1.097_400_923_084_93),
        (3, 0.981_545_225_035_565),
    ] {
        assert!((past.resolvable(sessions, 20) - theta).abs() < 1e-6);
    }
    assert!((past.auto_tolerance(2, 20, true) - 0.666_262_633).abs() < 1e-6);
    let calm: Vec<f64> = (0..20).map(|i| 0.001 * f64::from(i % 3)).collect();
    let past = Past::new(&stats(&[&calm, &calm, &calm])).expect("sessions");
    assert_eq!(
        past.auto_tolerance(2, 20, true),
        0.05,
        "a throttled disk of three calm sessions resolves 5 %"
    );
    let alone = Past::new(&stats(&[&calm])).expect("sessions");
    let wide = alone.auto_tolerance(2, 20, true);
    assert!(
        wide > 0.05 && wide < 0.2,
        "one session promises less: {wide}"
    );
}

#[test]
fn boundaries_agree_with_the_published_table() {
    let looks: Vec<Vec<u32>> = [6, 8, 11, 15, 20]
        .iter()
        .map(|&n| vec![n])
        .chain([8, 14, 20].map(|n| vec![20, n]))
        .chain([10, 20].map(|n| vec![20, 20, n]))
        .collect();
    let looks = Looks::new(looks).expect("rounds");
    let session = SessionStat {
        mean: 0.0,
        var: 1.0,
        n: 20,
        rho: 0.0,
    };
    let past = Past::new(&[session; 8]).expect("sessions");
    for (u, [t, strict, loose]) in TABLE {
        let got = looks.fractions(&past, u);
        for (got, want) in got.iter().zip(t) {
            assert!((got - want).abs() < 1e-3, "u {u}: t {got}, want {want}");
        }
        for (alpha, want) in [(0.025, strict), (0.05, loose)] {
            for (j, (got, want)) in nominal_levels(&got, alpha).iter().zip(want).enumerate() {
                assert!(
                    (got - want).abs() < 1e-4,
                    "u {u} alpha {alpha} look {j}: {got}, want {want}"
                );
            }
        }
    }
}

#[test]
fn two_looks_spend_the_error_once() {
    let past = Past::new(&stats(&[&A, &B, &C])).expect("sessions");
    let t = Looks::whole_sessions(2, 20).fractions(&past, past.tau(&[]).squared);
    assert!((t[0] - 0.625).abs() < 1e-12 && t[1] == 1.0, "{t:?}");
    // The bivariate normal integral by adaptive quadrature, to twelve digits.
    for (alpha, want) in [
        (0.025, [0.015_625, 0.015_494_213_963]),
        (0.05, [0.031_25, 0.033_119_827_247]),
        (0.025 / 9.0, [0.001_736_111_111, 0.001_473_869_501]),
    ] {
        let got = nominal_levels(&t, alpha);
        assert!(
            (got[0] - want[0]).abs() < 1e-9 && (got[1] - want[1]).abs() < 1e-9,
            "{got:?}"
        );
    }
}

#[test]
fn a_look_without_news_spends_nothing_and_one_look_spends_all() {
    assert_eq!(nominal_levels(&[1.0], 0.05).len(), 1);
    assert!((nominal_levels(&[1.0], 0.05)[0] - 0.05).abs() < 1e-9);
    let levels = nominal_levels(&[0.5, 0.5, 1.0], 0.05);
    assert_eq!(levels[1], 0.0);
    assert!(levels[2] > 0.03);
    assert!(nominal_levels(&[f64::NAN, 1.0], 0.05)[1] > 0.04);
    assert_eq!(Looks::new(vec![vec![]]), None);
    assert_eq!(Looks::new(vec![]), None);
}

#[test]
fn tolerances_are_bounds_at_the_share_written() {
    close(theta(0.05, true), 0.051_293_294_387_6);
    close(theta(0.05, false), 0.048_790_164_169_4);
    close(share(theta(0.05, true), true), 0.05);
    close(share(theta(2.0, false), false), 2.0);
    assert!(theta(1.0, true).is_finite() && theta(7.0, true).is_finite());
}

#[test]
fn limits_within_the_run_cover_the_mean_and_narrow_with_rounds() {
    let one = within_run(&stats(&[&B])).expect("rounds");
    let two = within_run(&stats(&[&B, &B])).expect("rounds");
    assert!(one.lower < one.value && one.value < one.upper);
    assert!(two.upper - two.lower < one.upper - one.lower);
    let flat = within_run(&stats(&[&[0.7; 20]])).expect("rounds");
    assert!(
        flat.upper - flat.lower < 1e-12,
        "constants have no spread: {flat:?}"
    );
    assert_eq!(within_run(&[]), None);
}

fn series() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(-30.0..30.0_f64, 1..40)
}

proptest! {
    #[test]
    fn any_series_gives_finite_figures(y in series(), z in series(), k in 1_usize..6) {
        let (a, b) = (session_stat(&y).expect("finite"), session_stat(&z).expect("finite"));
        prop_assert!(a.mean.is_finite() && a.var >= 0.0 && a.rho.is_finite());
        let past = Past::new(&vec![a; k]).expect("sessions");
        for new in [vec![b], vec![a, b], vec![b, b, b]] {
            let c = past.change(&new).expect("sessions");
            prop_assert!(c.delta.is_finite() && c.var > 0.0 && c.df > 0.0 && c.df.is_finite(), "{c:?}");
            let p = c.p_worse_than(0.05);
            prop_assert!((0.0..=1.0).contains(&p));
            prop_assert!((c.p_within(0.05) + p - 1.0).abs() < 1e-9);
            let (low, high) = c.limits();
            prop_assert!(low <= c.delta && c.delta <= high);
        }
        prop_assert!(past.auto_tolerance(2, 20, true) >= 0.05);
        let run = within_run(&[a, b]).expect("rounds");
        prop_assert!(run.lower <= run.value && run.value <= run.upper);
    }

    #[test]
    fn a_shift_moves_the_mean_and_nothing_else(y in series(), by in -5.0..5.0_f64) {
        let (a, b) = (session_stat(&y), session_stat(&y.iter().map(|v| v + by).collect::<Vec<_>>()));
        let (a, b) = (a.expect("finite"), b.expect("finite"));
        prop_assert!((a.mean + by - b.mean).abs() < 1e-9);
        prop_assert!((a.var - b.var).abs() < 1e-9 * (1.0 + a.var));
    }

    #[test]
    fn the_mean_does_not_depend_on_the_order(y in series()) {
        let mut backwards = y.clone();
        backwards.reverse();
        let (a, b) = (session_stat(&y).expect("finite"), session_stat(&backwards).expect("finite"));
        prop_assert!((a.mean - b.mean).abs() < 1e-12 && (a.var - b.var).abs() < 1e-9 * (1.0 + a.var));
    }

    #[test]
    fn levels_never_exceed_the_error(mut t in prop::collection::vec(0.01..1.0_f64, 1..5), alpha in 1e-4..0.1_f64) {
        t.sort_by(f64::total_cmp);
        t.push(1.0);
        let levels = nominal_levels(&t, alpha);
        prop_assert!(levels.iter().all(|l| (0.0..=alpha * 1.001).contains(l)), "{levels:?}");
        prop_assert!(levels.iter().sum::<f64>() >= alpha * 0.999, "all of it is spent: {levels:?}");
    }
}

#[test]
fn odd_series_do_not_panic() {
    for n in 0..4 {
        for value in [0.0, 1.0, -3.0] {
            assert_eq!(session_stat(&vec![value; n]).is_some(), n > 0);
        }
    }
    assert_eq!(session_stat(&[1.0, f64::NAN]), None);
    assert_eq!(session_stat(&[f64::INFINITY]), None);
    assert!(Past::new(&[]).is_none());
    let flat = session_stat(&[0.5; 20]).expect("finite");
    let c = Past::new(&[flat; 3])
        .and_then(|p| p.change(&[flat]))
        .expect("sessions");
    assert!(
        c.delta == 0.0 && c.var > 0.0,
        "constants still carry the prior of tau: {c:?}"
    );
    assert!(Past::new(&[flat]).and_then(|p| p.change(&[])).is_none());
}
