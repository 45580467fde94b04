//! The command line of `cargo iogate`: what may be typed, nothing resolved.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Top level.
#[derive(Debug, Parser)]
#[command(
    name = "iogate",
    bin_name = "cargo iogate",
    version,
    about = "Run disk workloads as tests and fail on regressions, above all in read against write",
    after_help = "Exit codes: 0 fine, 1 tool or configuration error, 2 usage, 3 regression, 4 nothing compared, \
                  5 undecided under --strict or invalid, 130/143 interrupted.",
    arg_required_else_help = true,
    max_term_width = 100
)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// When to colour the output [env: CARGO_TERM_COLOR]
    #[arg(long, global = true, value_enum)]
    pub(crate) color: Option<When>,
    /// Manifest of the workspace to work in
    #[arg(long, global = true, value_name = "PATH")]
    pub(crate) manifest_path: Option<PathBuf>,
}

/// When to do something about a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    /// If the output is a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Form of what goes to stdout.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum MessageFormat {
    /// Text for a person.
    #[default]
    Human,
    /// One JSON object a line; text for a person goes to stderr.
    Json,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure the suites and judge them; without a disk, a quick trial in the target directory
    Run(Run),
    /// List the tests, touching no disk
    List(List),
    /// Make pending sessions the baseline
    #[command(visible_aliases = ["update", "bless"])]
    Accept(Accept),
    /// Show what `accept` would change
    Diff(Diff),
    /// Print the JSON schema of a file or stream
    Schema(Schema),
}

/// Which tests.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Select {
    /// Run only tests whose name contains one of these
    #[arg(value_name = "FILTER")]
    pub(crate) filters: Vec<String>,
    /// Compare whole names
    #[arg(long)]
    pub(crate) exact: bool,
    /// Leave out tests whose name contains this
    #[arg(long, value_name = "FILTER")]
    pub(crate) skip: Vec<String>,
    /// Run the slow tests too
    #[arg(long)]
    pub(crate) include_ignored: bool,
    /// Run the slow tests only
    #[arg(long)]
    pub(crate) ignored: bool,
}

/// `run`.
#[derive(Debug, Args)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) select: Select,
    #[command(flatten)]
    pub(crate) settings: Settings,
    #[command(flatten)]
    pub(crate) build: Build,
    /// Form of what goes to stdout
    #[arg(long, value_enum, default_value_t)]
    pub(crate) message_format: MessageFormat,
}

/// `list`.
#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    pub(crate) select: Select,
    #[command(flatten)]
    pub(crate) settings: Settings,
}

/// `accept`.
#[derive(Debug, Args)]
pub(crate) struct Accept {
    #[command(flatten)]
    pub(crate) select: Select,
    #[command(flatten)]
    pub(crate) settings: Settings,
    /// Add the pending sessions instead of replacing the accepted ones
    #[arg(long)]
    pub(crate) append: bool,
    /// Let fewer than three sessions replace a blocking baseline
    #[arg(long)]
    pub(crate) provisional: bool,
    /// Why a worse value is right; required to accept one
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Freeze a new anchor for drift (needs --reason)
    #[arg(long, requires = "reason")]
    pub(crate) new_anchor: bool,
    /// Take sessions whose rate changed from the first rounds to the last
    #[arg(long)]
    pub(crate) allow_regime: bool,
    /// Take candidates from this directory, brought from another machine
    #[arg(long, value_name = "DIR")]
    pub(crate) from: Option<PathBuf>,
}

/// `diff`.
#[derive(Debug, Args)]
pub(crate) struct Diff {
    #[command(flatten)]
    pub(crate) select: Select,
    #[command(flatten)]
    pub(crate) settings: Settings,
    /// Take candidates from this directory, brought from another machine
    #[arg(long, value_name = "DIR")]
    pub(crate) from: Option<PathBuf>,
}

/// `schema`.
#[derive(Debug, Args)]
pub(crate) struct Schema {
    /// Which schema
    #[arg(value_enum)]
    pub(crate) of: SchemaOf,
}

/// What has a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaOf {
    /// The report file of a run.
    Report,
    /// A `verdict` line of the JSON stream.
    Verdict,
    /// The `summary` line of the JSON stream.
    Summary,
}

/// How the workspace's targets are built.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Build")]
pub(crate) struct Build {
    /// Packages whose targets to run
    #[arg(long, short, value_name = "SPEC")]
    pub(crate) package: Vec<String>,
    /// Cargo's build profile
    #[arg(long, value_name = "NAME", default_value = "release")]
    pub(crate) profile: String,
    /// Features to build with
    #[arg(long, short = 'F', value_name = "FEATURES")]
    pub(crate) features: Vec<String>,
    /// Require an up-to-date lock file
    #[arg(long)]
    pub(crate) locked: bool,
    /// Build without the network
    #[arg(long)]
    pub(crate) offline: bool,
}

/// Every setting that is also a variable `IOGATE_…` and a key of `.config/iogate.toml`. Kept as typed.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Settings (also IOGATE_<FLAG> and keys of .config/iogate.toml)")]
pub(crate) struct Settings {
    /// Directory on the attached disk to measure; repeat for a pool
    #[arg(long, value_name = "DIR")]
    disk: Vec<String>,
    /// Folder name of this disk under baselines/
    #[arg(long, value_name = "NAME")]
    disk_name: Option<String>,
    /// Directory of the suite files
    #[arg(long, value_name = "DIR")]
    suites: Option<String>,
    /// Directory of the baselines
    #[arg(long, value_name = "DIR")]
    baselines: Option<String>,
    /// The same block device again: consent to overwrite it
    #[arg(long, value_name = "DEVICE")]
    destroy: Option<String>,
    /// Whether a baseline must be of this very disk: identity or model
    #[arg(long = "match", value_name = "HOW")]
    matching: Option<String>,
    /// Fail without: disk or baseline
    #[arg(long, value_name = "WHAT")]
    require: Option<String>,
    /// Undecided tests fail
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    strict: Option<String>,
    /// A cache below the block layer makes numbers invalid
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    strict_medium: Option<String>,
    /// Most bytes one session of one test may write
    #[arg(long, value_name = "BYTES")]
    max_write: Option<String>,
    /// Undecided runs in a row after which a test fails
    #[arg(long, value_name = "N")]
    max_undecided: Option<String>,
    /// Least time between two sessions of one test
    #[arg(long, value_name = "TIME")]
    gap: Option<String>,
    /// What a run does with its sessions: auto, new, always or no
    #[arg(long, value_name = "HOW")]
    update: Option<String>,
    /// Measure tmpfs and ramfs all the same
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    allow_memory: Option<String>,
    /// Measure overlay all the same
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    allow_overlay: Option<String>,
    /// Test targets that use the harness
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    targets: Vec<String>,
}

impl Settings {
    /// The settings given, as key and text, a repeated one once for each.
    pub(crate) fn pairs(&self) -> Vec<(String, String)> {
        let single = [
            ("disk-name", &self.disk_name),
            ("suites", &self.suites),
            ("baselines", &self.baselines),
            ("destroy", &self.destroy),
            ("match", &self.matching),
            ("require", &self.require),
            ("strict", &self.strict),
            ("strict-medium", &self.strict_medium),
            ("max-write", &self.max_write),
            ("max-undecided", &self.max_undecided),
            ("gap", &self.gap),
            ("update", &self.update),
            ("allow-memory", &self.allow_memory),
            ("allow-overlay", &self.allow_overlay),
        ];
        let many = [("disk", &self.disk), ("targets", &self.targets)];
        let many = many
            .into_iter()
            .flat_map(|(key, values)| values.iter().map(move |v| (key, v)));
        let single = single
            .into_iter()
            .filter_map(|(key, value)| value.as_ref().map(|v| (key, v)));
        many.chain(single)
            .map(|(key, value)| (key.to_owned(), value.clone()))
            .collect()
    }
}
