//! The command `cargo iogate`.
fn main() {}
