//! The runs of chains on the server: what starts them, and what lets them go on. (docs/spec/chains.md)
//!
//! A run is a session whose turns are attempts of steps. It owns triggers, keys, tokens and schedules; the turns are run by the turn runner.

pub mod cancel;
pub mod drive;
pub mod event;
pub mod schedule;
pub mod trigger;
