//! The tables of chains: their status, their runs, and the keys and tokens of triggers and resumes.

pub mod run;
pub mod run_key;
pub mod status;
pub mod token;
