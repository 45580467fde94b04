//! The command `cargo iogate`.

fn main() -> std::process::ExitCode {
    iogate::cli::main()
}
