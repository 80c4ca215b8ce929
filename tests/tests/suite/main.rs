//! The runners: the core, a real server, a real browser, and what the repository demands of itself.

mod browser;
mod core;
mod http;
mod protocol;
mod readme;
mod tidy;
