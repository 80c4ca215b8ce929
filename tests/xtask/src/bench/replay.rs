//! Timings of replays, native and in the page.

use anyhow::{Context, Result};
use serde_json::Value;

use super::{Bench, PACK, Target, number};
use crate::{sh, wasm};

/// The targets in turns per second, for turns without effects.
const NATIVE_TARGET: u64 = 100_000;
const PAGE_TARGET: u64 = 20_000;

/// The timings.
pub struct Replay {
    native: Value,
    page: Value,
}

impl Replay {
    /// Replays the journals of [`PACK`], natively and in the page, for `seconds` seconds each.
    pub fn measure(bench: &Bench<'_>, seconds: u64) -> Result<Self> {
        wasm::build(bench.project, wasm::Purpose::Release)?;
        sh::print_progress(&format!("timing replays, {seconds} s native and in the page"));
        let seconds = seconds.to_string();
        let native = sh::output(bench.project.command(bench.release_binary("test-tools")).args(["replay", PACK, &seconds]))
            .context("`replay` failed")?;
        let page = sh::output(bench.project.command("node").args(["web-demo/test/replay.mjs", PACK, &seconds]));
        let page = page.context("the page failed to replay")?;
        Ok(Self { native: serde_json::from_str(&native)?, page: serde_json::from_str(&page)? })
    }

    /// Prints the table.
    pub fn print(&self) {
        println!("\n{:<52}{:>12}", "turns replayed per second", "");
        let figure = |it: &str| number(&self.native, it);
        for (what, rate) in [
            ("native, one core, audit ALL", figure("replayed")),
            ("native, one core, no audit", figure("without_audit")),
            ("native, one core, journals only decoded", figure("journals_read")),
            ("native, all cores, audit ALL", figure("replayed_all_cores")),
            ("native, all cores, no audit", figure("without_audit_all_cores")),
            ("in the page, audit ALL", number(&self.page, "replayed")),
        ] {
            println!("{what:<52}{rate:>12}");
        }
    }

    /// Returns the targets.
    pub fn targets(&self) -> Vec<Target> {
        let aim = |what: &str, least: u64, measured: u64| Target {
            label: format!("{what}: at least {least} turns replayed per second"),
            measured: measured.to_string(),
            met: Some(measured >= least),
        };
        let native = number(&self.native, "replayed_all_cores");
        vec![aim("native", NATIVE_TARGET, native), aim("page", PAGE_TARGET, number(&self.page, "replayed"))]
    }
}
