//! Draws records into a writer, one file per format.
