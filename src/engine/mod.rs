//! The ways to do I/O, laying out files, and the session that runs a plan: the only code that writes to a target.
