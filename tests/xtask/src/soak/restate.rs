//! Twenty minutes of load on a Restate cluster whose workers, servers and nodes are killed, and which gets a node and loses one.

use anyhow::Result;

use super::Soak;
use crate::{restate, sh};

/// The concurrent conversations.
const CONNECTIONS: u32 = 12;

/// The duration in seconds.
const SECONDS: u32 = 1200;

/// The time between two kills, in seconds.
const INTERVAL: u32 = 10;

/// Runs the test; returns what failed.
pub fn run(soak: &mut Soak<'_>) -> Result<Vec<String>> {
    restate::install(soak.project)?;
    sh::print_progress(&format!("killing processes of a Restate cluster under load for {SECONDS} s"));
    let arguments = ["restate", &soak.postgres.url(), &CONNECTIONS.to_string(), &SECONDS.to_string(), &INTERVAL.to_string()];
    let seen = soak.run_program(&arguments)?;
    println!(
        "\n{} messages of {} conversations acknowledged, {} of them sent again; the longest wait was {:.1} s",
        seen.number("/acknowledged")?,
        seen.number("/conversations")?,
        seen.number("/repeated")?,
        seen.number("/longest_wait_ms")? / 1000.0
    );
    println!(
        "killed: {} workers, {} servers, {} nodes; a node was added in {:.1} s, and one removed in {:.1} s",
        seen.number("/killed_workers")?,
        seen.number("/killed_servers")?,
        seen.number("/killed_nodes")?,
        seen.number("/adding_ms")? / 1000.0,
        seen.number("/removing_ms")? / 1000.0
    );
    println!(
        "{} calls with side effects, {} of them idempotent ones that were repeated; {} in doubt, of which {} were made; seed {}",
        seen.number("/calls")?,
        seen.number("/repeated_calls")?,
        seen.number("/in_doubt")?,
        seen.number("/in_doubt_made")?,
        seen.number("/seed")?
    );
    seen.failures("restate")
}
