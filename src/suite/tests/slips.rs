use super::{errors, gates, names, suite, test, test_errors};
use crate::suite::parse;

/// Lines of a test, and what the answer says.
const SLIPS: &[(&str, &str)] = &[
    (
        "rw = \"reed\"",
        "s.toml:3:6: test.rw: found \"reed\", allowed: read, write, randread, randwrite, randrw; did you mean `read`?",
    ),
    (
        "rw = \"read\"\nblcok = \"4KiB\"",
        "s.toml:4:1: test.blcok: found an unknown key \"blcok\"",
    ),
    ("rw = \"read\"\nblcok = \"4KiB\"", "did you mean `block`?"),
    ("rw = \"read\"\n  \"µ\" = 1", "s.toml:4:3: test.µ"),
    (
        "rw = \"read\"\nblock = \"4k\"",
        "4 KiB (4096 B) or 4 kB (4000 B)",
    ),
    (
        "rw = \"read\"\nblock = 4096",
        "s.toml:4:9: test.block: found 4096",
    ),
    (
        "rw = \"read\"\nsize = \"0B\"",
        "test.size: found \"0B\", allowed: bytes above zero",
    ),
    (
        "rw = \"read\"\nsize = \"99999999TiB\"",
        "no whole number of bytes below 2^64",
    ),
    ("rw = \"read\"\nsize = 4GiB", "s.toml:4:8: size: "),
    ("rw = \"read\"\nsize = 4GiB", "stand in quotes"),
    ("rw = \"read\"\ndepth = 0", "a whole number from 1 to 32768"),
    ("rw = \"read\"\ndepth = -1", "a whole number from 1"),
    ("rw = \"read\"\ndepth = 1.5", "a whole number from 1"),
    (
        "rw = \"read\"\ndepth = 99999999999999999999",
        "99999999999999999999",
    ),
    ("rw = \"read\"\ndepth = \"8\"", "without quotes"),
    ("rw = \"read\"\nworkers = 0", "test.workers: found 0"),
    ("rw = \"read\"\ndisks = 0", "test.disks: found 0"),
    ("rw = \"read\"\nslow = \"true\"", "without quotes"),
    ("rw = \"read\"\nslow = 1", "true or false"),
    (
        "rw = \"read\"\nleg = \"2\"",
        "a time such as \"2s\", or bytes",
    ),
    (
        "rw = \"read\"\nleg = \"5M\"",
        "5 MiB (5242880 B) or 5 MB (5000000 B)",
    ),
    ("rw = \"read\"\nleg = \"0s\"", "above zero"),
    (
        "rw = \"read\"\nleg = \"4KiB\"",
        "a leg of at least one block",
    ),
    ("rw = \"read\"\nleg = { a = 1 }", "two pairs of brackets"),
    ("rw = \"read\"\ntime = \"0s\"", "a time above zero"),
    ("rw = \"read\"\ntime = \"1year\"", "longer than a month"),
    ("rw = \"read\"\nbudget = 60", "units are always written"),
    ("rw = \"read\"\ndata = \"zeros\"", "did you mean `zero`?"),
    (
        "rw = \"read\"\ndata = { compressible = \"101%\" }",
        "at most 100%",
    ),
    (
        "rw = \"read\"\ndata = { compressable = \"50%\" }",
        "did you mean `compressible`?",
    ),
    ("rw = \"read\"\nzone = \"5%..0%\"", "the smaller first"),
    ("rw = \"read\"\nzone = \"0%..101%\"", "the smaller first"),
    ("rw = \"read\"\nfile = \"\"", "test.file: found \"\""),
    (
        "rw = \"read\"\nfile = \"a\\u0000b\"",
        "control characters are refused",
    ),
    (
        "rw = \"read\"\nfiles = { count = 1 }",
        "files without `count` or `size`",
    ),
    (
        "rw = \"read\"\nfiles = { count = 0, size = \"1k\" }",
        "found \"1k\", which has two meanings",
    ),
    (
        "rw = \"read\"\nfiles = { count = 0, size = \"1k\" }",
        "test.files.count: found 0",
    ),
    ("rw = \"read\"\nworkers = []", "an empty list"),
    ("rw = \"read\"\nworkers = [[1]]", "found a list"),
    (
        "rw = \"read\"\nworkers = [1, 1]",
        "s.toml:4:15: test.name: found a second test named \"t::workers-1\"",
    ),
    ("rw = 1979-05-27", "found a date"),
    ("", "a test without `rw`, `pair` or `[[test.leg]]`"),
    (
        "rw = \"read\"\npair = [\"read\", \"write\"]",
        "exactly one of rw, pair and [[test.leg]]",
    ),
    (
        "rw = \"read\"\n[[test.leg]]\nname = \"a\"\nrw = \"read\"",
        "`leg` beside `rw`",
    ),
    (
        "rw = \"read\"\ntime = \"1s\"\nleg = \"1s\"",
        "one of leg and time",
    ),
];

#[test]
fn every_slip_is_answered_with_its_place_and_a_cure() {
    for (lines, expected) in SLIPS {
        let error = test_errors(lines);
        assert!(error.contains(expected), "{lines}\n{expected}\n{error}");
    }
}

/// Lines of a test that contradict each other, and what the answer says.
const CLASHES: &[(&str, &str)] = &[
    (
        "rw = \"read\"\nengine = \"psync\"\ndepth = 8",
        "s.toml:5:9: test.depth: found depth 8 with engine = \"psync\"",
    ),
    (
        "rw = \"read\"\nengine = \"mmap\"\ndepth = [1, 8]",
        "s.toml:5:13: test.depth: found depth 8 with engine = \"mmap\"",
    ),
    (
        "rw = \"read\"\ncache = \"buffered\"\ndepth = 8",
        "only taken when asked for",
    ),
    (
        "rw = \"read\"\nengine = \"mmap\"\ncache = \"direct\"",
        "no way around the page cache",
    ),
    (
        "rw = \"read\"\nblock = \"2MiB\"\nsize = \"1MiB\"",
        "a block of 2 MiB in a size of 1 MiB",
    ),
    (
        "rw = \"read\"\nblock = \"5GiB\"",
        "a block of 5 GiB in a size of 4 GiB",
    ),
    ("rw = \"read\"\nsize = \"8000000TiB\"\nworkers = 2", "2^63"),
    (
        "rw = \"write\"\nfile = \"/dev/sda\"",
        "test.file: found a leg that writes on an existing file",
    ),
    (
        "pair = [\"read\", \"write\"]\nfile = \"/a\"",
        "a leg that writes on an existing file",
    ),
    (
        "rw = \"randrw\"\nfile = \"/a\"",
        "a leg that writes on an existing file",
    ),
    (
        "rw = \"write\"\non = \"device\"",
        "a leg that writes on the block device",
    ),
    (
        "rw = \"read\"\non = \"device\"\nfile = \"/a\"",
        "on = \"device\" beside `file`",
    ),
    (
        "pair = [\"read\", \"randwrite\"]",
        "a ratio only exists for equal pairs",
    ),
    (
        "pair = [\"read\", \"read\"]",
        "a ratio only exists for equal pairs",
    ),
    ("pair = [\"read\"]", "a ratio only exists for equal pairs"),
    (
        "pair = [\"read\", \"write\", \"write\"]",
        "a ratio only exists for equal pairs",
    ),
    (
        "pair = [\"randrw\", \"write\"]",
        "a ratio only exists for equal pairs",
    ),
    ("pair = \"read\"", "one leg alone is `rw`"),
    ("pair = [[\"read\", \"write\"]]", "found a list"),
    (
        "rw = \"randread\"\nfiles = { count = 1, size = \"1MiB\" }",
        "each file is read whole",
    ),
    (
        "rw = \"read\"\nsize = \"1MiB\"\nfiles = { count = 1, size = \"1MiB\" }",
        "`size` beside `files`",
    ),
    (
        "[[test.leg]]\nname = \"read\"\nrw = \"read\"",
        "a name of letters",
    ),
    (
        "[[test.leg]]\nname = \"a\"\nrw = \"read\"\n[[test.leg]]\nname = \"a\"\nrw = \"read\"",
        "a second leg named \"a\"",
    ),
    ("[[test.leg]]\nname = \"a\"", "a leg without `name` or `rw`"),
    (
        "[[test.leg]]\nname = \"a\"\nrw = \"read\"\nworkers = [1, 2]",
        "not those of a leg",
    ),
    (
        "[[test.leg]]\nname = \"a\"\nrw = \"read\"\niodepth = 2",
        "fio's `iodepth` is `depth` here",
    ),
    (
        "engine = \"psync\"\n[[test.leg]]\nname = \"a\"\nrw = \"read\"\ndepth = 2",
        "found depth 2 with engine = \"psync\"",
    ),
    (
        "files = { count = 1, size = \"1MiB\" }\n[[test.leg]]\nname = \"a\"\nrw = \"read\"",
        "`files` beside `[[test.leg]]`",
    ),
];

#[test]
fn what_does_not_go_together_is_refused_with_the_reason() {
    for (lines, expected) in CLASHES {
        let error = test_errors(lines);
        assert!(error.contains(expected), "{lines}\n{expected}\n{error}");
    }
}

#[test]
fn words_of_fio_are_translated() {
    for (lines, expected) in [
        ("bs = \"128k\"", "`bs` is `block` here"),
        ("iodepth = 8", "`iodepth` is `depth` here"),
        ("numjobs = 4", "`numjobs` is `workers` here"),
        ("ioengine = \"libaio\"", "`ioengine` is `engine` here"),
        ("engine = \"libaio\"", "engine = \"io_uring\""),
        ("engine = \"sync\"", "engine = \"psync\""),
        ("runtime = 60", "`runtime` is `time` here"),
        ("direct = 1", "`direct=1` is cache = \"direct\" here"),
        ("cache = 1", "`direct=1` is cache = \"direct\" here"),
        ("filename = \"/dev/sda\"", "`filename` is `file` here"),
        ("readwrite = \"read\"", "`readwrite` is `rw` here"),
        ("rw = \"rw\"", "pair = [\"read\", \"write\"]"),
        ("fsync = 1", "flush = \"each\""),
        ("directory = \"/mnt\"", "--disk"),
        ("group_reporting = true", "always reported as one"),
    ] {
        let error = test_errors(lines);
        assert!(error.contains(expected), "{lines}\n{expected}\n{error}");
        assert!(
            !error.contains("without `rw`") || !lines.starts_with("readwrite"),
            "{error}"
        );
    }
}

#[test]
fn gate_slips_are_answered_too() {
    let gate = |lines: &str| test_errors(&format!("rw = \"read\"\n[test.gate]\n{lines}"));
    for (lines, expected) in [
        (
            "raed = {}",
            "s.toml:5:1: test.gate.raed: found an unknown metric \"raed\"",
        ),
        ("raed = { min = 1 }", "did you mean `read`?"),
        (
            "write = {}",
            "a gate on \"write\", which the test does not yield",
        ),
        (
            "ratio = { min = 0.5 }",
            "does not yield, allowed: read, read_iops",
        ),
        ("tolerance = \"5%\"", "`tolerance` belongs to a metric"),
        ("read = true", "read = {} gates it"),
        ("read = \"5%\"", "read = { tolerance = \"5%\" }"),
        ("read = 5", "false, or a table"),
        ("read = { tolerence = \"5%\" }", "did you mean `tolerance`?"),
        ("read = { tolerance = 0.05 }", "\"auto\", or a share"),
        ("read = { tolerance = \"0%\" }", "above 0% and below 100%"),
        ("read = { tolerance = \"100%\" }", "above 0% and below 100%"),
        ("read = { tolerance = \"atuo\" }", "\"auto\", or a share"),
        ("read = { min = 500 }", "a rate in quotes"),
        ("read = { min = \"500M/s\" }", "500 MiB"),
        ("read_iops = { min = 5, max = 3 }", "min no larger than max"),
        ("read_iops = { min = nan }", "a number, zero or more"),
        ("read_iops = { min = inf }", "a number, zero or more"),
        ("read_iops = { min = -1 }", "a number, zero or more"),
        ("read_iops = { min = 1e999 }", "a number, zero or more"),
        ("read_p99 = { max = 5 }", "a time in quotes"),
        ("cpu = { max = \"5\" }", "nanoseconds of CPU a byte"),
        ("read = { advisory = 1 }", "true or false"),
    ] {
        let error = gate(lines);
        assert!(error.contains(expected), "{lines}\n{expected}\n{error}");
    }
    assert!(test_errors("rw = \"read\"\ngate = 5").contains("a table of metrics"));
    let null = test_errors("rw = \"read\"\nengine = \"null\"\n[test.gate]\nread = {}");
    assert!(null.contains("never judged"), "{null}");
}

#[test]
fn a_gate_of_a_test_with_lists_need_only_fit_one_of_them() {
    let text = "[[test]]\nname = \"t\"\nrw = [\"read\", \"write\"]\n[test.gate]\nwrite = { min = \"1MB/s\" }\nflush = {}";
    let suite = suite(text);
    assert_eq!(gates(&suite.tests[0]), ["read"]);
    assert_eq!(gates(&suite.tests[1]), ["write", "flush"]);
}

#[test]
fn the_outer_form_of_a_file_is_checked() {
    for (text, expected) in [
        ("", "s.toml:1:1: test: found no [[test]]"),
        ("# nothing", "found no [[test]]"),
        (
            "about = 3\n[[test]]\nname = \"t\"\nrw = \"read\"",
            "s.toml:1:9: about: found 3",
        ),
        (
            "about = \"\"\n[[test]]\nname = \"t\"\nrw = \"read\"",
            "why this suite exists",
        ),
        ("[test]\nname = \"t\"", "two pairs of brackets"),
        ("test = []", "an empty suite tests nothing"),
        ("test = [1]", "found 1, allowed: [[test]] tables"),
        ("tests = 1", "did you mean `test`?"),
        ("[default]\nsize = \"1GiB\"", "did you mean `defaults`?"),
        ("size = \"1GiB\"", "keys of a test stand in a [[test]]"),
        ("defaults = 1", "a [defaults] table"),
        (
            "[defaults]\nname = \"x\"",
            "every [[test]] has a name of its own",
        ),
        ("[defaults.gate]\nread = {}", "stand below [gate]"),
        (
            "[defaults]\nrw = \"read\"\npair = [\"read\", \"write\"]",
            "exactly one of rw",
        ),
        ("[defaults]\nbs = \"4k\"", "defaults.bs: "),
        (
            "[[test]]\nrw = \"read\"",
            "s.toml:1:1: test: found a test without a name",
        ),
        (
            "[[test]]\nname = \"a\"\nrw = \"read\"\n[[test]]\nname = \"a\"\nrw = \"read\"",
            "s.toml:5:8: test.name: found a second test named \"a\"",
        ),
        (
            "[[test]]\nname = \"a\"\nrw = \"read\"\nrw = \"read\"",
            "s.toml:4:1: ",
        ),
        ("[[test]\nname = \"a\"", "s.toml:1:"),
        ("\u{1b}[31m", "s.toml:1:1: "),
    ] {
        let error = errors(text).join("\n");
        assert!(error.contains(expected), "{text}\n{expected}\n{error}");
        assert!(!error.contains('\u{1b}'), "{error:?}");
    }
}

#[test]
fn names_that_could_leave_a_folder_or_read_as_a_flag_are_refused() {
    for name in [
        "", " ", "a b", "ä", "a\\b", "a&b", "<a>", "..", "../a", "a/..", "a/../b", "/a", "a/",
        "a//b", ".", "./a", "-x", ":a", "a:", "a..b",
    ] {
        let text = format!("[[test]]\nname = '{name}'\nrw = \"read\"");
        assert!(
            errors(&text)[0].starts_with("s.toml:2:8: test.name: found "),
            "{name}"
        );
    }
    let long = "x".repeat(121);
    assert!(test_errors_of_name(&long).contains("at most 120"));
    let list = format!("rw = \"read\"\nfile = [\"/{}\"]", "x".repeat(300));
    assert!(test_errors(&list).contains("s.toml:4:9: test.name: found a name of"));
    for name in ["a", "a/b", "kv::get", "A_z-0.9", ".hidden"] {
        assert_eq!(
            names(&format!("[[test]]\nname = '{name}'\nrw = \"read\"")),
            [name]
        );
    }
    let text = "[[test]]\nname = \"t\"\nrw = \"read\"";
    for name in ["", "..", "a/b", "a:b", "-a", ".a", "a b", "ä"] {
        let error = parse(name, "p", text).expect_err(name);
        assert!(error[0].to_string().contains("rename the file"), "{name}");
    }
}

fn test_errors_of_name(name: &str) -> String {
    errors(&format!("[[test]]\nname = '{name}'\nrw = \"read\"")).join("\n")
}

#[test]
fn all_errors_of_a_file_are_told_at_once_in_order_and_each_once() {
    let text = "about = 1\n[defaults]\nblock = \"4k\"\n[[test]]\nname = \"a\"\nrw = \"reed\"\niodepth = 8\n\
                [[test]]\nname = \"b\"\nrw = \"write\"\nfile = \"/a\"\n[gate]\nraed = {}";
    let lines: Vec<_> = parse("s", "s.toml", text)
        .expect_err("wrong")
        .iter()
        .map(|e| e.line)
        .collect();
    assert_eq!(lines, [1, 3, 6, 7, 13]);
    let text = "[defaults]\nengine = \"psync\"\ndepth = 2\nrw = \"read\"\n[[test]]\nname = \"a\"\n[[test]]\nname = \"b\"";
    assert_eq!(
        errors(text).len(),
        1,
        "a wrong default is told once, not once a test"
    );
}

#[test]
fn hostile_text_in_file_is_only_data() {
    for path in ["$(reboot)", "~/x", "a;b", "/dev/sda", "--destroy", "*"] {
        let workload = test(&format!("rw = \"read\"\nfile = '{path}'")).workload;
        assert_eq!(workload.file.as_deref(), Some(std::path::Path::new(path)));
    }
}
