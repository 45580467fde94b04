//! Where a command prints: the answer to stdout, everything about the way there to stderr.

use std::cell::Cell;
use std::io::{self, IsTerminal, Write};

use serde::Serialize;

use super::args::When;
use super::exit::Exit;
use crate::pipeline::{self, Vars};
use crate::report::{self, ColorChoice, ColorEnv, Style};

/// Columns where the terminal does not tell.
const WIDTH: usize = 100;

/// The two streams with their colours.
pub(crate) struct Out {
    /// The environment, read once.
    pub(crate) vars: Vars,
    stdout: Style,
    stderr: Style,
    human_on_stderr: bool,
    /// A person sees both streams, so what stderr told need not be told again.
    pub(crate) one_screen: bool,
    /// Why an answer did not reach stdout; a reader that went away by itself is none.
    lost: Cell<Option<io::ErrorKind>>,
}

impl Out {
    pub(crate) fn new(asked: Option<When>) -> Self {
        let vars = pipeline::vars();
        let asked = asked.map(|when| match when {
            When::Auto => ColorChoice::Auto,
            When::Always => ColorChoice::Always,
            When::Never => ColorChoice::Never,
        });
        let choice = asked.or_else(|| {
            vars.get("CARGO_TERM_COLOR")
                .and_then(|w| ColorChoice::parse(w))
        });
        let width = vars
            .get("COLUMNS")
            .and_then(|c| c.parse().ok())
            .unwrap_or_else(terminal_width);
        let style = |terminal| Style {
            color: report::color(choice, ColorEnv::of(&vars), terminal),
            width,
        };
        let (stdout, stderr) = (
            style(io::stdout().is_terminal()),
            style(io::stderr().is_terminal()),
        );
        Self {
            vars,
            stdout,
            stderr,
            human_on_stderr: false,
            one_screen: io::stdout().is_terminal() && io::stderr().is_terminal(),
            lost: Cell::new(None),
        }
    }

    /// From here on text for a person goes to stderr: stdout carries JSON alone.
    pub(crate) fn json(&mut self) {
        self.human_on_stderr = true;
    }

    /// Draws text for a person. A reader that went away is no error.
    pub(crate) fn human(&self, draw: impl FnOnce(&mut dyn Write, Style) -> io::Result<()>) {
        if self.human_on_stderr {
            let _ = draw(&mut io::stderr().lock(), self.stderr);
        } else {
            let mut stdout = io::stdout().lock();
            self.answered(draw(&mut stdout, self.stdout).and_then(|()| stdout.flush()));
        }
    }

    /// Draws something about the way there, on stderr.
    pub(crate) fn aside(&self, draw: impl FnOnce(&mut dyn Write, Style) -> io::Result<()>) {
        let _ = draw(&mut io::stderr().lock(), self.stderr);
    }

    /// One JSON object on stdout.
    pub(crate) fn object(&self, object: &impl Serialize) {
        let mut stdout = io::stdout().lock();
        self.answered(report::write_line(&mut stdout, object).and_then(|()| stdout.flush()));
    }

    /// Text on stdout as it is.
    pub(crate) fn raw(&self, text: &str) {
        let mut stdout = io::stdout().lock();
        self.answered(
            stdout
                .write_all(text.as_bytes())
                .and_then(|()| stdout.flush()),
        );
    }

    /// Something about the way there.
    pub(crate) fn note(&self, text: &str) {
        pipeline::say(format_args!("iogate: {}", report::escape(text)));
    }

    /// What went wrong, one line a fault.
    pub(crate) fn errors(&self, errors: &[String]) -> Exit {
        for error in errors {
            for line in error.lines() {
                pipeline::say(format_args!("error: {}", report::escape(line)));
            }
        }
        Exit::Error
    }

    fn answered(&self, written: io::Result<()>) {
        if let Err(error) = written
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            self.lost.set(Some(error.kind()));
        }
    }

    /// The exit code after all: an answer cut off by a full disk must not end as a pass.
    pub(crate) fn delivered(&self, exit: Exit) -> Exit {
        match self.lost.get() {
            None => exit,
            Some(why) => exit.worst(self.errors(&[format!(
                "failed to write the answer to stdout: {why}; what is there is cut off, free space and run again"
            )])),
        }
    }
}

/// Width of the terminal on stdout.
#[cfg(target_os = "linux")]
fn terminal_width() -> usize {
    rustix::termios::tcgetwinsize(io::stdout()).map_or(WIDTH, |size| match size.ws_col {
        0 => WIDTH,
        columns => usize::from(columns),
    })
}

#[cfg(not(target_os = "linux"))]
fn terminal_width() -> usize {
    WIDTH
}
