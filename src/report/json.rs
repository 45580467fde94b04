//! One JSON object a line. What stands in them is `record`'s.

use std::io::{self, Write};

use serde::Serialize;

/// Writes one object and the end of its line in a single call, so that lines of several writers stay whole.
///
/// # Errors
/// The writer's.
pub fn write_line(out: &mut dyn Write, object: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(object)?;
    line.push(b'\n');
    out.write_all(&line)?;
    out.flush()
}
