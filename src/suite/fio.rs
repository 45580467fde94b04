//! fio's words and what they are called here.
//!
//! Owns only the dictionary; people arrive with a fio job in their head, and an error is the place to translate.

/// fio options that have a name, or a reason for having none, here.
const OPTIONS: [(&str, &str); 48] = [
    ("bs", "fio's `bs` is `block` here: block = \"128KiB\""),
    (
        "blocksize",
        "fio's `blocksize` is `block` here: block = \"128KiB\"",
    ),
    (
        "bsrange",
        "one `block` a test; a list of blocks makes one test of each",
    ),
    (
        "bssplit",
        "one `block` a test; a list of blocks makes one test of each",
    ),
    (
        "blockalign",
        "alignment follows from `block` and from what the file system asks for",
    ),
    ("iodepth", "fio's `iodepth` is `depth` here: depth = 8"),
    (
        "iodepth_batch",
        "submission and reaping are batched by themselves",
    ),
    (
        "iodepth_batch_submit",
        "submission and reaping are batched by themselves",
    ),
    (
        "iodepth_batch_complete",
        "submission and reaping are batched by themselves",
    ),
    ("numjobs", "fio's `numjobs` is `workers` here: workers = 4"),
    (
        "ioengine",
        "fio's `ioengine` is `engine` here; `libaio` is engine = \"io_uring\"",
    ),
    ("runtime", "fio's `runtime` is `time` here: time = \"60s\""),
    ("timeout", "fio's `timeout` is `time` here: time = \"60s\""),
    ("time_based", "`time` alone lets legs end by time"),
    (
        "ramp_time",
        "warm-up is built in: two rounds and two seconds, in every engine",
    ),
    (
        "direct",
        "fio's `direct=1` is cache = \"direct\" here, `direct=0` is cache = \"buffered\"",
    ),
    (
        "buffered",
        "fio's `buffered=1` is cache = \"buffered\" here",
    ),
    (
        "invalidate",
        "the file is evicted before every buffered leg and verified to be gone",
    ),
    (
        "filename",
        "fio's `filename` is `file` here (read-only); scratch files are made below --disk",
    ),
    (
        "directory",
        "the directory is not part of a suite: it is given by --disk or IOGATE_DISK",
    ),
    ("readwrite", "fio's `readwrite` is `rw` here: rw = \"read\""),
    (
        "rwmixread",
        "a fixed mix is rw = \"randrw\"; other mixes are `[[test.leg]]`s that run at the same time",
    ),
    (
        "rwmixwrite",
        "a fixed mix is rw = \"randrw\"; other mixes are `[[test.leg]]`s that run at the same time",
    ),
    (
        "filesize",
        "fio's `filesize` is `size` here: size = \"4GiB\"",
    ),
    ("io_size", "bytes of one leg are `leg` here: leg = \"1GiB\""),
    (
        "io_limit",
        "bytes of one leg are `leg` here: leg = \"1GiB\"",
    ),
    (
        "number_ios",
        "bytes of one leg are `leg` here: leg = \"1GiB\"",
    ),
    (
        "loops",
        "rounds are repeated until the verdict is certain; `budget` bounds their time",
    ),
    (
        "nrfiles",
        "many files are files = { count = 4000, size = \"650kB\" } here",
    ),
    (
        "file_service_type",
        "the order of files is files = { order = \"random\" } here",
    ),
    ("fsync", "fio's `fsync=1` is flush = \"each\" here"),
    ("fdatasync", "fio's `fdatasync=1` is flush = \"each\" here"),
    (
        "end_fsync",
        "fio's `end_fsync=1` is flush = \"end\" here, the default",
    ),
    (
        "fsync_on_close",
        "fio's `fsync_on_close=1` is flush = \"end\" here, the default",
    ),
    ("sync", "fio's `sync=1` is flush = \"each\" here"),
    (
        "buffer_compress_percentage",
        "compressible data is data = { compressible = \"50%\" } here",
    ),
    (
        "zero_buffers",
        "fio's `zero_buffers` is data = \"zero\" here",
    ),
    (
        "refill_buffers",
        "fio's `refill_buffers` is data = \"random\" here, the default",
    ),
    (
        "dedupe_percentage",
        "data never repeats here; there is no key for it",
    ),
    ("offset", "a part of the device is zone = \"0%..5%\" here"),
    (
        "unlink",
        "scratch files are unlinked at birth; scratch = \"kept\" keeps them",
    ),
    (
        "group_reporting",
        "workers of a leg are always reported as one",
    ),
    (
        "stonewall",
        "tests never run at the same time; legs that should are `[[test.leg]]`s",
    ),
    (
        "wait_for",
        "tests never run at the same time; legs that should are `[[test.leg]]`s",
    ),
    ("thread", "workers are always threads"),
    (
        "randseed",
        "the seed is drawn by the run and stored in its record",
    ),
    (
        "randrepeat",
        "the seed is drawn by the run and stored in its record",
    ),
    (
        "description",
        "what a suite is for is told by `about`, what a test is for by a comment",
    ),
];

/// fio's values, by our key.
const VALUES: [(&str, &str, &str); 20] = [
    (
        "engine",
        "libaio",
        "fio's `libaio` is engine = \"io_uring\" here",
    ),
    (
        "engine",
        "posixaio",
        "fio's `posixaio` is engine = \"io_uring\" here",
    ),
    (
        "engine",
        "io_uring_cmd",
        "NVMe passthrough is not supported; engine = \"io_uring\" goes through the block layer",
    ),
    ("engine", "sync", "fio's `sync` is engine = \"psync\" here"),
    (
        "engine",
        "vsync",
        "fio's `vsync` is engine = \"psync\" here",
    ),
    (
        "engine",
        "pvsync",
        "fio's `pvsync` is engine = \"psync\" here",
    ),
    (
        "engine",
        "pvsync2",
        "fio's `pvsync2` is engine = \"psync\" here",
    ),
    (
        "rw",
        "rw",
        "fio's `rw` mixes both: pair = [\"read\", \"write\"] lets them take turns, `[[test.leg]]`s run at the same time",
    ),
    (
        "rw",
        "readwrite",
        "fio's `readwrite` mixes both: pair = [\"read\", \"write\"] lets them take turns, `[[test.leg]]`s run at the same time",
    ),
    ("rw", "trim", "discards are not measured"),
    ("rw", "randtrim", "discards are not measured"),
    ("rw", "trimwrite", "discards are not measured"),
    ("cache", "1", "fio's `direct=1` is cache = \"direct\" here"),
    (
        "cache",
        "0",
        "fio's `direct=0` is cache = \"buffered\" here",
    ),
    (
        "cache",
        "true",
        "cache = \"buffered\" goes through the page cache, cache = \"direct\" around it",
    ),
    (
        "cache",
        "false",
        "cache = \"buffered\" goes through the page cache, cache = \"direct\" around it",
    ),
    ("flush", "1", "fio's `fdatasync=1` is flush = \"each\" here"),
    ("flush", "0", "fio's `fdatasync=0` is flush = \"none\" here"),
    (
        "write",
        "truncate",
        "write = \"new-file\" makes a new file each leg",
    ),
    (
        "data",
        "urandom",
        "incompressible data is data = \"random\" here",
    ),
];

/// What an option of fio is called here.
pub(super) fn option(word: &str) -> Option<&'static str> {
    let word = word.to_ascii_lowercase();
    let found = OPTIONS.iter().find(|(name, _)| *name == word);
    found.map(|&(_, here)| here)
}

/// What a value of fio is called here, for one of our keys (`engine`, `test.engine`).
pub(super) fn value(key: &str, word: &str) -> Option<&'static str> {
    let key = key.rsplit('.').next().unwrap_or(key);
    let word = word.trim_matches('"').to_ascii_lowercase();
    let found = VALUES.iter().find(|(k, v, _)| *k == key && *v == word);
    found.map(|&(_, _, here)| here)
}
