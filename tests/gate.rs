//! The gate of this project: every suite under `suites/` as a test.

fn main() -> std::process::ExitCode {
    iogate::main()
}
