//! Programs with a deadline. Each runs in a process group of its own, so that a test that gives up, or panics, takes
//! everything it started with it.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Variables of the surroundings that would change what is tested.
const SCRUBBED: &[&str] = &[
    "CI",
    "NO_COLOR",
    "CLICOLOR_FORCE",
    "CARGO_TERM_COLOR",
    "GITHUB_ACTIONS",
    "GITHUB_STEP_SUMMARY",
    "RUST_BACKTRACE",
    "CARGO_MANIFEST_DIR",
    "CARGO_MANIFEST_PATH",
];

/// A program to run, in a clean environment.
pub(crate) struct Program {
    command: Command,
    limit: Duration,
}

/// `name` with neither input, nor settings of the surroundings, nor another tongue, and a minute to live.
pub(crate) fn program(name: impl AsRef<OsStr>) -> Program {
    let mut command = Command::new(name);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .env("LC_ALL", "C");
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("IOGATE_")
            || text.starts_with("NEXTEST")
            || SCRUBBED.contains(&text.as_ref())
        {
            command.env_remove(&name);
        }
    }
    Program {
        command,
        limit: Duration::from_secs(60),
    }
}

impl Program {
    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    pub(crate) fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.command.args(args);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn current_dir(mut self, folder: impl AsRef<Path>) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// How long it may run.
    pub(crate) fn seconds(mut self, limit: u64) -> Self {
        self.limit = Duration::from_secs(limit);
        self
    }

    /// The same call under another program, as in `strace -f PROGRAM …`.
    pub(crate) fn under<A: AsRef<OsStr>>(
        self,
        wrapper: &str,
        args: impl IntoIterator<Item = A>,
    ) -> Self {
        let mut outer = program(wrapper).args(args);
        outer
            .command
            .arg(self.command.get_program())
            .args(self.command.get_args());
        for (name, value) in self.command.get_envs() {
            match value {
                Some(value) => outer.command.env(name, value),
                None => outer.command.env_remove(name),
            };
        }
        if let Some(folder) = self.command.get_current_dir() {
            outer.command.current_dir(folder);
        }
        outer.limit = self.limit;
        outer
    }

    /// Starts it and leaves it running.
    #[track_caller]
    pub(crate) fn start(mut self) -> Running {
        self.command.process_group(0);
        let line = spell(&self.command);
        let mut child = self
            .command
            .spawn()
            .unwrap_or_else(|e| panic!("failed to start {line}: {e}"));
        let stdout = Stream::follow(child.stdout.take());
        let stderr = Stream::follow(child.stderr.take());
        Running {
            child,
            line,
            stdout,
            stderr,
            started: Instant::now(),
            limit: self.limit,
            ended: None,
        }
    }

    /// Runs it to its end; past its time it is killed and the test fails.
    #[track_caller]
    pub(crate) fn run(self) -> Output {
        self.start().wait()
    }
}

fn spell(command: &Command) -> String {
    let words: Vec<OsString> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(OsStr::to_owned)
        .collect();
    words.join(OsStr::new(" ")).to_string_lossy().into_owned()
}

/// What a pipe has brought so far.
struct Stream {
    text: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl Stream {
    fn follow(pipe: Option<impl Read + Send + 'static>) -> Self {
        let text = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&text);
        let reader = pipe.map(|pipe| {
            std::thread::spawn(move || {
                let mut pipe = BufReader::new(pipe);
                let mut line = Vec::new();
                while pipe.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
                    sink.lock().expect("no reader panics").append(&mut line);
                }
            })
        });
        Self { text, reader }
    }

    fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.text.lock().expect("no reader panics")).into_owned()
    }

    fn all(&mut self) -> String {
        if let Some(reader) = self.reader.take() {
            reader.join().expect("no reader panics");
        }
        self.so_far()
    }
}

/// A program at work; dropping it kills its whole process group.
pub(crate) struct Running {
    child: Child,
    line: String,
    stdout: Stream,
    stderr: Stream,
    started: Instant,
    limit: Duration,
    ended: Option<ExitStatus>,
}

/// What a program left.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) line: String,
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
}

impl Running {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Signals the whole group.
    pub(crate) fn signal(&self, signal: nix::sys::signal::Signal) {
        let group = nix::unistd::Pid::from_raw(i32::try_from(self.pid()).expect("a pid"));
        // Gone already is as good.
        let _ = nix::sys::signal::killpg(group, signal);
    }

    /// SIGKILL to the whole group.
    pub(crate) fn kill(&mut self) {
        self.signal(nix::sys::signal::Signal::SIGKILL);
        let _ = self.child.kill();
    }

    /// Whether it has ended.
    pub(crate) fn over(&mut self) -> bool {
        self.ended = self
            .ended
            .or_else(|| self.child.try_wait().expect("a child can be asked"));
        self.ended.is_some()
    }

    /// Waits until stderr holds `word`; the test fails when the program ends or its time does without it.
    #[track_caller]
    pub(crate) fn until_stderr(&mut self, word: &str) {
        while !self.stderr.so_far().contains(word) {
            let over = self.over();
            assert!(
                !over && self.started.elapsed() < self.limit || self.stderr.so_far().contains(word),
                "{} never said {word:?} on stderr:\n{}",
                self.line,
                self.stderr.so_far()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits for its end; past its time it is killed and the test fails.
    #[track_caller]
    pub(crate) fn wait(mut self) -> Output {
        while !self.over() {
            if self.started.elapsed() > self.limit {
                let (line, said) = (self.line.clone(), self.stderr.so_far());
                panic!(
                    "{line} ran for more than {:?}; stderr so far:\n{said}",
                    self.limit
                );
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let took = self.started.elapsed();
        let status = self.ended.expect("the loop above ends with it");
        let (stdout, stderr) = (self.stdout.all(), self.stderr.all());
        Output {
            line: self.line.clone(),
            status,
            stdout,
            stderr,
            took,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.over() {
            return;
        }
        self.kill();
        let _ = self.child.wait();
    }
}

impl Output {
    /// The exit code; 128 + signal when one ended it.
    pub(crate) fn code(&self) -> i32 {
        let status = self.status;
        status
            .code()
            .unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
    }

    /// Fails the test unless it ended with `code`.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        let found = self.code();
        assert!(
            found == code,
            "expected exit code {code}, found {found}\n{}",
            self.told()
        );
        self
    }

    /// Fails the test unless it ended well.
    #[track_caller]
    pub(crate) fn success(self) -> Self {
        self.exits(0)
    }

    /// Fails the test unless stderr or stdout hold every one of `words`.
    #[track_caller]
    pub(crate) fn says(self, words: &[&str]) -> Self {
        let all = format!("{}{}", self.stdout, self.stderr);
        let lacking: Vec<_> = words.iter().filter(|w| !all.contains(**w)).collect();
        assert!(lacking.is_empty(), "lacks {lacking:?}\n{}", self.told());
        self
    }

    /// Command, status and both streams, for a failing test.
    pub(crate) fn told(&self) -> String {
        let Self {
            line,
            stdout,
            stderr,
            took,
            ..
        } = self;
        format!(
            "$ {line}\nexit {} after {took:?}\n--- stdout\n{stdout}\n--- stderr\n{stderr}",
            self.code()
        )
    }
}

/// Asks again and again until `done`, ten seconds at most: the bound users are promised.
#[track_caller]
pub(crate) fn within_ten_seconds(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(
            start.elapsed() < Duration::from_secs(10),
            "not within 10 s: {what}"
        );
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// A path as an argument.
pub(crate) fn text(path: impl Into<PathBuf>) -> String {
    path.into().to_string_lossy().into_owned()
}
