//! `cargo iogate schema`: what a pipeline may rely on, as JSON schema.

use super::args::{Schema, SchemaOf};
use super::exit::Exit;
use super::out::Out;
use crate::record::{Report, SummaryLine, VerdictLine};

pub(crate) fn schema(ask: &Schema, out: &mut Out) -> Exit {
    let schema = match ask.of {
        SchemaOf::Report => schemars::schema_for!(Report),
        SchemaOf::Verdict => schemars::schema_for!(VerdictLine),
        SchemaOf::Summary => schemars::schema_for!(SummaryLine),
    };
    match serde_json::to_string_pretty(&schema) {
        Ok(text) => {
            out.raw(&(text + "\n"));
            Exit::Fine
        }
        Err(error) => out.errors(&[error.to_string()]),
    }
}
