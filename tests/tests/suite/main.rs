//! The runners: the core, a real server, a real browser, and what the repository demands of itself.

mod browser;
mod budget;
mod commands;
mod containers;
mod core;
mod database;
mod demo;
mod export;
mod extension;
mod faults;
mod http;
mod lint;
mod live;
mod models;
mod protocol;
mod readme;
mod replay;
mod running;
mod scaled;
mod seed;
mod server;
mod settings;
mod soak;
mod stream;
mod tidy;
mod tools;
