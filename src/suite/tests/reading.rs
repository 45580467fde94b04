use super::{errors, gates, names, suite, test, test_errors};
use crate::suite::{
    Block, Cache, Data, EngineKind, Flush, Gate, LegLength, Legs, MetricKind, On, Proof, Rw,
    Scratch, Tolerance,
};
use crate::units::{Bytes, Fraction, GIB, KIB, MIB};

#[test]
fn a_test_of_one_key_gets_every_default() {
    let workload = test("rw = \"read\"").workload;
    assert_eq!(workload.legs, Legs::Single(Rw::Read));
    assert_eq!(
        (workload.size, workload.leg, workload.time),
        (None, None, None)
    );
    assert_eq!(workload.block, Block::Bytes(Bytes(MIB)));
    assert_eq!(
        (workload.engine, workload.cache),
        (EngineKind::Psync, Cache::Direct)
    );
    assert_eq!(
        (workload.depth, workload.workers, workload.disks),
        (1, 1, 1)
    );
    assert_eq!((workload.data, workload.flush), (Data::Random, Flush::End));
    assert_eq!((workload.on, workload.proof), (On::File, Proof::Required));
    assert_eq!(
        (workload.file, workload.scratch, workload.files),
        (None, None, None)
    );
    assert_eq!(workload.zone, None);
}

#[test]
fn defaults_that_depend_on_other_keys_follow_them() {
    assert_eq!(
        test("rw = \"randread\"").workload.block,
        Block::Bytes(Bytes(4 * KIB))
    );
    assert_eq!(
        test("rw = \"read\"\ndepth = 2").workload.engine,
        EngineKind::IoUring
    );
    let buffered = test("rw = \"read\"\ncache = \"buffered\"").workload;
    assert_eq!(buffered.engine, EngineKind::Psync);
    assert_eq!(
        test("rw = \"read\"\nengine = \"mmap\"").workload.cache,
        Cache::Buffered
    );
}

#[test]
fn every_key_is_read() {
    let test = test(
        r#"
        pair = ["randwrite", "randread"]
        size = "1 GiB"
        leg = "2s"
        block = "min"
        engine = "io_uring"
        cache = "buffered"
        depth = 4
        workers = 3
        data = { compressible = "50%" }
        write = "overwrite"
        flush = "none"
        scratch = "kept"
        proof = "none"
        slow = true
        advisory = true
        budget = "2min"
        "#,
    );
    let w = &test.workload;
    assert_eq!(
        w.legs,
        Legs::Pair(Rw::RandRead, Rw::RandWrite),
        "the reading leg comes first"
    );
    assert_eq!(w.size, Some(Bytes(GIB)));
    assert_eq!(
        w.leg,
        Some(LegLength::Time(std::time::Duration::from_secs(2)))
    );
    assert_eq!(
        (w.block, w.engine, w.cache),
        (Block::Min, EngineKind::IoUring, Cache::Buffered)
    );
    assert_eq!((w.depth, w.workers), (4, 3));
    assert_eq!(w.data, Data::Compressible(Fraction(0.5)));
    assert_eq!((w.flush, w.scratch), (Flush::None, Some(Scratch::Kept)));
    assert_eq!(w.proof, Proof::None);
    assert!(test.slow && test.advisory);
    assert_eq!(test.budget, Some(std::time::Duration::from_secs(120)));
    assert_eq!(w.not_yet(), Some("scratch = \"kept\""));
    assert_eq!(
        test.gated_metrics, 0,
        "an advisory test takes no share of the error level"
    );
}

#[test]
fn a_leg_lasts_a_time_or_bytes() {
    let leg = |text: &str| {
        test(&format!("rw = \"read\"\nleg = \"{text}\""))
            .workload
            .leg
    };
    assert_eq!(leg("64MiB"), Some(LegLength::Bytes(Bytes(64 * MIB))));
    assert_eq!(
        leg("500ms"),
        Some(LegLength::Time(std::time::Duration::from_millis(500)))
    );
}

#[test]
fn keys_of_later_versions_are_read_and_named() {
    for (lines, key) in [
        ("rw = \"randrw\"", "rw = \"randrw\""),
        ("rw = \"read\"\nengine = \"mmap\"", "engine = \"mmap\""),
        ("rw = \"read\"\ntime = \"60s\"", "time"),
        ("rw = \"write\"\nwrite = \"append\"", "write = \"append\""),
        (
            "rw = \"write\"\nwrite = \"new-file\"",
            "write = \"new-file\"",
        ),
        ("rw = \"write\"\nflush = \"each\"", "flush = \"each\""),
        ("rw = \"read\"\non = \"device\"", "on = \"device\""),
        (
            "rw = \"read\"\non = \"device\"\nzone = \"0%..5%\"",
            "on = \"device\"",
        ),
        ("rw = \"read\"\nzone = \"0%..5%\"", "zone"),
        ("rw = \"read\"\ndisks = 2", "disks"),
        ("rw = \"write\"\nscratch = \"kept\"", "scratch = \"kept\""),
        (
            "pair = [\"read\", \"write\"]\nfiles = { count = 4000, size = \"650kB\" }",
            "files",
        ),
        ("[[test.leg]]\nname = \"a\"\nrw = \"read\"", "[[test.leg]]"),
    ] {
        assert_eq!(test(lines).workload.not_yet(), Some(key), "{lines}");
    }
}

#[test]
fn lists_multiply_in_the_order_written() {
    let text = "[[test]]\nname = \"t\"\ndepth = [8, 1]\nrw = \"read\"\nworkers = [1, 0x10]";
    let expected = [
        "t::depth-8::workers-1",
        "t::depth-8::workers-16",
        "t::depth-1::workers-1",
        "t::depth-1::workers-16",
    ];
    assert_eq!(names(text), expected);
    let suite = suite(text);
    let shapes: Vec<_> = suite
        .tests
        .iter()
        .map(|t| (t.workload.depth, t.workload.workers))
        .collect();
    assert_eq!(shapes, [(8, 1), (8, 16), (1, 1), (1, 16)]);
    assert_eq!(suite.gated_metrics, 4);
    assert!(suite.tests.iter().all(|test| test.gated_metrics == 4));
}

#[test]
fn a_list_in_the_defaults_multiplies_every_test_that_does_not_say_otherwise() {
    let text = "[defaults]\nworkers = [1, 2]\nrw = \"read\"\n[[test]]\nname = \"a\"\n[[test]]\nname = \"b\"\nworkers = 5";
    assert_eq!(names(text), ["a::workers-1", "a::workers-2", "b"]);
}

#[test]
fn defaults_reach_tests_above_them_and_yield_to_keys_of_their_group() {
    let text = "[[test]]\nname = \"a\"\npair = [\"read\", \"write\"]\ntime = \"9s\"\n\
                [[test]]\nname = \"b\"\n[defaults]\nrw = \"write\"\nleg = \"2s\"\nsize = \"2GiB\"";
    let suite = suite(text);
    let [a, b] = &suite.tests[..] else {
        panic!("two tests")
    };
    assert_eq!(a.workload.legs, Legs::Pair(Rw::Read, Rw::Write));
    assert_eq!(a.workload.leg, None);
    assert!(a.workload.time.is_some());
    assert_eq!(b.workload.legs, Legs::Single(Rw::Write));
    assert_eq!(
        (a.workload.size, b.workload.size),
        (Some(Bytes(2 * GIB)), Some(Bytes(2 * GIB)))
    );
}

#[test]
fn values_are_named_with_letters_that_names_may_hold() {
    for (list, suffixes) in [
        (
            "block = [\"128 KiB\", \"min\"]",
            ["block-128KiB", "block-min"],
        ),
        (
            "zone = [\"0%..5%\", \"95% .. 100%\"]",
            ["zone-0-5", "zone-95-100"],
        ),
        (
            "data = [\"zero\", { compressible = \"50%\" }]",
            ["data-zero", "data-compressible-50"],
        ),
        (
            "file = [\"/mnt/ä b\", \"../../etc\"]",
            ["file-mnt-b", "file-etc"],
        ),
        ("slow = [true, false]", ["slow-true", "slow-false"]),
        (
            "write = [\"append\", \"new-file\"]",
            ["write-append", "write-new-file"],
        ),
    ] {
        let text = format!("[[test]]\nname = \"t\"\nrw = \"read\"\n{list}");
        assert_eq!(
            names(&text),
            suffixes.map(|suffix| format!("t::{suffix}")),
            "{list}"
        );
    }
}

#[test]
fn too_many_tests_are_refused_before_they_are_built() {
    let hundred: Vec<String> = (1..=100).map(|n| n.to_string()).collect();
    let hundred = hundred.join(", ");
    let lists = format!("depth = [{hundred}]\nworkers = [{hundred}]\ndisks = [{hundred}]");
    let error = test_errors(&format!("rw = \"read\"\n{lists}"));
    assert!(
        error.starts_with("s.toml:4:1: test.depth: found lists that make 1000000 tests"),
        "{error}"
    );
    assert!(error.contains("at most 200"), "{error}");
    let two = format!(
        "[[test]]\nname = \"a\"\nrw = \"read\"\nworkers = [{hundred}]\n[[test]]\nname = \"b\"\nrw = \"read\"\nworkers = [{hundred}]"
    );
    assert_eq!(names(&two).len(), 200);
    let one_more = format!("{two}\n[[test]]\nname = \"c\"\nrw = \"read\"\nworkers = [1]");
    assert!(errors(&one_more)[0].contains("201 tests"));
    let plain: String = (0..300)
        .map(|n| format!("[[test]]\nname = \"t{n}\"\nrw = \"read\"\n"))
        .collect();
    assert_eq!(
        names(&plain).len(),
        300,
        "tests that were written out are no slip"
    );
}

#[test]
fn a_pair_gates_three_metrics_and_a_leg_its_own_rate() {
    assert_eq!(
        gates(&test("pair = [\"read\", \"write\"]")),
        ["ratio", "read", "write"]
    );
    assert_eq!(
        gates(&test("pair = [\"randread\", \"randwrite\"]")),
        ["ratio", "read", "write"]
    );
    assert_eq!(gates(&test("rw = \"write\"")), ["write"]);
    assert_eq!(gates(&test("rw = \"randread\"")), ["read_iops"]);
    assert_eq!(gates(&test("rw = \"randrw\"")), ["read_iops", "write_iops"]);
    let legs = "[[test.leg]]\nname = \"seq\"\nrw = \"read\"\n[[test.leg]]\nname = \"rand\"\nrw = \"randwrite\"";
    assert_eq!(gates(&test(legs)), ["rand.write_iops", "seq.read"]);
    assert!(
        gates(&test("rw = \"read\"\nengine = \"null\"")).is_empty(),
        "never judged"
    );
    let auto = test("rw = \"read\"").gates;
    let gate = Gate {
        tolerance: Tolerance::Auto,
        min: None,
        max: None,
        advisory: false,
    };
    assert_eq!(auto.into_values().collect::<Vec<_>>(), [gate]);
}

#[test]
fn gate_keys_add_change_and_take_out() {
    let text = r#"
        [[test]]
        name = "a"
        pair = ["read", "write"]
        [test.gate]
        ratio = { min = 0.7 }
        write = { tolerance = "auto", advisory = true }
        read_p99.max = "2ms"
        cpu = { max = "0.5 ns/B" }
        [[test]]
        name = "b"
        pair = ["read", "write"]
        [gate]
        ratio = { tolerance = "5%", min = 0.5 }
        read = false
        write = { min = "100 MB/s", max = "1GB/s" }
        write_iops = {}
    "#;
    let suite = suite(text);
    let gate = |test: usize, metric: &str| {
        let metric = metric.parse().expect("a metric");
        suite.tests[test].gates.get(&metric).copied()
    };
    let ratio = Gate {
        tolerance: Tolerance::Auto,
        min: Some(0.7),
        max: None,
        advisory: false,
    };
    assert_eq!(
        gate(0, "ratio"),
        Some(ratio),
        "the test's entry replaces the suite's whole"
    );
    assert_eq!(gate(0, "read"), None);
    assert!(gate(0, "write").is_some_and(|gate| gate.advisory && gate.min.is_none()));
    let bounded = Gate {
        tolerance: Tolerance::Unset,
        min: None,
        max: Some(2e6),
        advisory: false,
    };
    assert_eq!(
        gate(0, "read_p99"),
        Some(bounded),
        "a metric that is not gated anyway is judged by its floor alone"
    );
    assert_eq!(gate(0, "cpu").and_then(|gate| gate.max), Some(0.5));
    let given = Gate {
        tolerance: Tolerance::Given(Fraction(0.05)),
        min: Some(0.5),
        max: None,
        advisory: false,
    };
    assert_eq!(gate(1, "ratio"), Some(given));
    assert_eq!(gate(1, "write").and_then(|gate| gate.min), Some(1e8));
    assert_eq!(
        gate(1, "write_iops").map(|gate| gate.tolerance),
        Some(Tolerance::Auto)
    );
    assert_eq!(suite.gated_metrics, 4 + 3, "advisory metrics do not count");
}

#[test]
fn metrics_of_named_legs_are_gated_in_each_way_toml_can_write_them() {
    let legs = "[[test]]\nname = \"t\"\n[[test.leg]]\nname = \"seq\"\nrw = \"read\"\n[[test.leg]]\nname = \"rand\"\nrw = \"randread\"\n";
    for gate in [
        "[gate]\n\"seq.read\" = { min = \"1MB/s\" }",
        "[gate]\nseq.read = { min = \"1MB/s\" }",
        "[gate.seq]\nread = { min = \"1MB/s\" }",
        "[gate.seq.read]\nmin = \"1MB/s\"",
    ] {
        let suite = suite(&format!("{legs}{gate}"));
        let min = suite.tests[0]
            .gates
            .get(&"seq.read".parse().expect("a metric"))
            .and_then(|gate| gate.min);
        assert_eq!(min, Some(1e6), "{gate}");
    }
    assert!(
        errors(&format!("{legs}[gate]\nread = false"))[0]
            .contains("\"read\", which the suite does not yield")
    );
}

#[test]
fn a_workload_yields_what_its_legs_can_tell() {
    let metrics = |lines: &str| -> Vec<String> {
        test(lines)
            .workload
            .metrics()
            .iter()
            .map(ToString::to_string)
            .collect()
    };
    let read = [
        "read",
        "read_iops",
        "read_p50",
        "read_p99",
        "read_p999",
        "cpu",
    ];
    assert_eq!(metrics("rw = \"read\""), read);
    let pair = metrics("pair = [\"read\", \"write\"]\nfiles = { count = 1, size = \"1MiB\" }");
    let mut all: Vec<_> = MetricKind::all().iter().map(ToString::to_string).collect();
    let mut sorted = pair.clone();
    all.sort();
    sorted.sort();
    assert_eq!(
        sorted, all,
        "a pair of files yields everything there is, each once"
    );
    assert_eq!(pair[0], "ratio");
}

#[test]
fn the_text_of_a_test_is_its_meaning() {
    let hash = |lines: &str| test(lines).text;
    let plain = hash("rw = \"read\"");
    assert_eq!(plain.len(), 16);
    for same in [
        "# a comment\nrw   =  'read'",
        "depth = 1\nrw = \"read\"",
        "rw = \"read\"\nblock = \"1024KiB\"\nengine = \"psync\"\ncache = \"direct\"",
        "rw = \"read\"\nslow = true\nbudget = \"9min\"",
        "rw = \"read\"\n[test.gate]\nread = {}",
    ] {
        assert_eq!(hash(same), plain, "{same}");
    }
    let mut seen = vec![plain];
    for other in [
        "rw = \"write\"",
        "rw = \"read\"\nsize = \"4GiB\"",
        "rw = \"read\"\nleg = \"2s\"",
        "rw = \"read\"\nleg = \"2MiB\"",
        "rw = \"read\"\nblock = \"min\"",
        "rw = \"read\"\ncache = \"buffered\"",
        "rw = \"read\"\ndepth = 2",
        "rw = \"read\"\nworkers = 2",
        "rw = \"read\"\nfile = \"/a\"",
        "rw = \"read\"\ndata = \"zero\"",
        "rw = \"read\"\nscratch = \"unlinked\"",
        "rw = \"read\"\nproof = \"none\"",
        "rw = \"read\"\nzone = \"0%..5%\"",
        "rw = \"read\"\n[test.gate]\nread = { tolerance = \"5%\" }",
        "rw = \"read\"\n[test.gate]\nread = { min = \"5B/s\" }",
        "rw = \"read\"\n[test.gate]\nread = false",
        "pair = [\"read\", \"write\"]",
    ] {
        let hash = hash(other);
        assert!(!seen.contains(&hash), "{other}");
        seen.push(hash);
    }
    let either = ["[\"read\", \"write\"]", "[\"write\", \"read\"]"]
        .map(|pair| hash(&format!("pair = {pair}")));
    assert_eq!(either[0], either[1]);
}

/// Candidates and baselines carry the hash: a change of this value makes every accepted one stale.
#[test]
fn the_text_of_a_test_is_the_same_in_every_version() {
    assert_eq!(
        test("pair = [\"read\", \"write\"]").text,
        "e51f3344af42ea62"
    );
}
